//! The kernel's tracepoints that are followed, and what their data says.

use instruments::evidence::TracepointFormat;
use std::io;

/// What a tracepoint reports; where its fields lie.
#[derive(Clone, Copy, Debug)]
pub enum Point {
    /// A futex call begins.
    Enter { word_at: usize, operation_at: usize },
    /// It ends.
    Exit { result_at: usize },
    /// A thread wakes another.
    Waking { thread_at: usize },
}

/// By the kernel's numbers.
pub struct Points(Vec<(u16, Point)>);

impl Points {
    /// Finds them.
    ///
    /// # Errors
    /// `tracefs` cannot be read, or the kernel lacks one.
    pub fn find() -> io::Result<Self> {
        let enter = TracepointFormat::of("syscalls/sys_enter_futex")?;
        let exit = TracepointFormat::of("syscalls/sys_exit_futex")?;
        let waking = TracepointFormat::of("sched/sched_waking")?;
        let points = [
            (enter.id, Point::Enter { word_at: enter.offset_of("uaddr")?, operation_at: enter.offset_of("op")? }),
            (exit.id, Point::Exit { result_at: exit.offset_of("ret")? }),
            (waking.id, Point::Waking { thread_at: waking.offset_of("pid")? }),
        ];
        Ok(Self(points.into()))
    }

    #[cfg(test)]
    pub fn with(points: &[(u16, Point)]) -> Self {
        Self(points.to_vec())
    }

    pub fn of(&self, id: u16) -> Option<Point> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, point)| *point)
    }

    pub fn iter(&self) -> impl Iterator<Item = &(u16, Point)> {
        self.0.iter()
    }
}
