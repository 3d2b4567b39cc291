//! Steps one after another, as recorded: nobody begins before the slowest has ended.

use super::line::Line;

/// Steps without end, from one moment on.
#[derive(Debug, Clone)]
pub struct Playback<'a> {
    lines: &'a [Line],
    now_ns: u64,
}

impl<'a> Playback<'a> {
    pub(super) fn new(lines: &'a [Line], now_ns: u64) -> Self {
        Self { lines, now_ns }
    }

    /// The moment up to which it has played.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Plays a step, and what follows it in which nobody works and interruptions cost nothing, such as a barrier; its
    /// length, and who was last: the first of those who were last together.
    pub fn step(&mut self, rest_ns: u64) -> (u64, usize) {
        let begin = self.now_ns;
        let (mut last, mut end) = (0, 0);
        for (worker, line) in self.lines.iter().enumerate() {
            let done = line.done_ns(begin);
            if done > end {
                (last, end) = (worker, done);
            }
        }
        self.now_ns = end + rest_ns;
        (self.now_ns - begin, last)
    }
}
