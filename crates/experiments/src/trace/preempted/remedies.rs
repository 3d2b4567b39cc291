//! The remedies, which are set for contend's own thread while it starts the program: the program inherits them.

use super::record::{Row, RowKind};
use super::rows::rows;
use super::slice_extension::SliceExtension;
use crate::trace::measure::preempted::Counted;
use blame::names::message;
use instruments::statistics::Interval;
use std::io;

/// Runs of each: six are the fewest whose extremes are a 95 % confidence interval of the median.
pub const ROUNDS: u32 = 6;
/// The longer time slice, and the higher priority.
const SLICE_NS: u64 = 20_000_000;
const NICE: i32 = -5;

/// A setting under which the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    Plain,
    /// A longer time slice from the scheduler (EEVDF).
    Slice,
    Priority,
    /// This number of threads.
    Threads(u32),
}

/// A remedy, and the results with it.
pub struct Side {
    pub remedy: Remedy,
    /// The reason why it cannot be measured here.
    pub refused: Option<String>,
    totals: Vec<Row>,
    runs_s: Vec<f64>,
}

/// Returns the plain run and the remedies, with the number of threads if they are to be fewer.
pub fn all(threads: Option<u32>) -> Vec<Side> {
    let remedies = [Remedy::Plain, Remedy::Slice, Remedy::Priority].into_iter().chain(threads.map(Remedy::Threads));
    remedies.map(|remedy| Side { remedy, refused: None, totals: Vec::new(), runs_s: Vec::new() }).collect()
}

impl Side {
    /// Notes a run.
    pub fn note(&mut self, counted: &Counted, elapsed_s: f64) {
        self.totals.extend(rows(counted).into_iter().take(1));
        self.runs_s.push(elapsed_s);
    }

    fn row(&self) -> Row {
        let values = |of: fn(&Row) -> Option<f64>| self.totals.iter().filter_map(of).collect::<Vec<f64>>();
        let (times_per_s, times_per_s_ci) = summary(values(|row| row.times_per_s));
        let (waited_share, waited_share_ci) = summary(values(|row| row.waited_share));
        let (run_s, run_ci_s) = summary(self.runs_s.clone());
        Row {
            kind: RowKind::Remedy,
            remedy: Some(self.remedy.name()),
            not_measured: self.refused.clone(),
            times: self.totals.iter().map(|row| row.times).sum(),
            times_per_s,
            times_per_s_ci,
            waited_share,
            waited_share_ci,
            run_s,
            run_ci_s,
            ..Row::default()
        }
    }
}

/// Returns the median, and the smallest and the largest of at least six values.
fn summary(mut values: Vec<f64>) -> (Option<f64>, Option<Interval>) {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return (None, None) };
    let median = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
    let has_interval = values.len() >= ROUNDS as usize;
    (Some(median), has_interval.then(|| Interval::new(values[0], values[last])))
}

/// Returns the rows of the remedies, and of those that another command or another kernel measures.
pub fn rows_of(sides: &[Side], program: &str) -> Vec<Row> {
    let other = |remedy: &str, why: String| Row {
        kind: RowKind::Remedy,
        remedy: Some(remedy.to_owned()),
        not_measured: Some(why),
        ..Row::default()
    };
    let adaptive = format!("measure it: contend trace --swap adaptive -- {program}");
    let extension = match SliceExtension::find() {
        SliceExtension::Available => "available: the locks of the program must request it".to_owned(),
        other => other.words().to_owned(),
    };
    let others = [other("an adaptive lock", adaptive), other("slice extension", extension)];
    sides.iter().map(Side::row).chain(others).collect()
}

impl Remedy {
    fn name(self) -> String {
        match self {
            Self::Plain => "none".into(),
            Self::Slice => format!("time slice of {} ms", SLICE_NS / 1_000_000),
            Self::Priority => format!("nice {NICE}"),
            Self::Threads(threads) => format!("{threads} threads"),
        }
    }

    /// Sets it for the calling thread until the result is dropped.
    ///
    /// # Errors
    /// The kernel refuses it: the reason.
    pub fn apply(self) -> Result<Scheduling, String> {
        let before = SchedAttr::get().map_err(|error| message(&error))?;
        let wanted = match self {
            Self::Plain | Self::Threads(_) => return Ok(Scheduling { before: None }),
            Self::Slice => SchedAttr { runtime: SLICE_NS, ..before },
            Self::Priority => SchedAttr { nice: NICE, ..before },
        };
        let refused = |error: io::Error| format!("the kernel refuses it: {}", message(&error));
        wanted.set().map_err(refused)?;
        let scheduling = Scheduling { before: Some(before) };
        // A kernel without slices of threads ignores the value.
        let is_set = SchedAttr::get().is_ok_and(|now| now.runtime == wanted.runtime && now.nice == wanted.nice);
        if is_set {
            Ok(scheduling)
        } else {
            Err("the kernel ignores it; a time slice of threads needs Linux 6.12".into())
        }
    }
}

/// A setting of the calling thread, which ends when this is dropped.
pub struct Scheduling {
    before: Option<SchedAttr>,
}

impl Drop for Scheduling {
    fn drop(&mut self) {
        // It was the thread's setting before, so the kernel refuses it only if a limit was lowered since.
        let _ = self.before.map(|before| before.set());
    }
}

/// `struct sched_attr` in its first version.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl SchedAttr {
    fn get() -> io::Result<Self> {
        let mut attr = Self::default();
        let size = size_of::<Self>() as u32;
        // SAFETY: the pointer is to a whole structure of this size, which the kernel writes.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) };
        if result == 0 { Ok(Self { size, ..attr }) } else { Err(io::Error::last_os_error()) }
    }

    fn set(&self) -> io::Result<()> {
        // SAFETY: the pointer is to a whole structure, which begins with its size and which the kernel reads.
        let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *self, 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
