//! Bounds of the work on data of other programs: bytes of their files, their memory, text from their sockets, and graphs
//! that are built from these.
//!
//! A watched process can give any of these a shape that takes years. So each loop over them counts its steps against an
//! [`Allowance`], which also ends with the run, and reports [`Exhausted`] to the caller. The caller goes on without the
//! data, and says that they are missing. [`Allowance::patiently`] is for system calls that a process can delay.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time for names and analysis after a signal, or after the time for the measurement.
pub const AFTER_THE_END: Duration = Duration::from_millis(1_500);

/// Steps that may be done until the end of the run. A clone counts the same steps.
#[derive(Clone, Debug)]
pub struct Allowance {
    count: Arc<Count>,
    end: Arc<End>,
}

#[derive(Debug)]
struct Count {
    spent: AtomicU64,
    most: AtomicU64,
    is_withdrawn: AtomicBool,
    /// The first refusal: 0 before, then 1 for steps, and 2 for time.
    refused: AtomicU8,
}

/// The end of a run, for all its allowances.
#[derive(Debug)]
struct End {
    signal: Option<Arc<AtomicBool>>,
    origin: Instant,
    /// The time from the origin to the end, in ns.
    after_ns: AtomicU64,
}

/// The reason why work was not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The data need more steps than they are allowed.
    Steps,
    /// The run ended first.
    Time,
    /// A system call took too long.
    Stalled,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Steps => "more work than contend does for it",
            Self::Time => "the run ended first",
            Self::Stalled => "the file system did not answer in time",
        })
    }
}

impl std::error::Error for Exhausted {}

impl Default for Allowance {
    /// Any number of steps, without an end.
    fn default() -> Self {
        Self::of(u64::MAX, None)
    }
}

impl Allowance {
    /// Allows this number of steps.
    pub fn of_steps(most: u64) -> Self {
        Self::of(most, None)
    }

    /// Allows any number of steps until [`AFTER_THE_END`] of a signal, or until [`Self::end_within`] of a time.
    pub fn of_run(signal: Arc<AtomicBool>) -> Self {
        Self::of(u64::MAX, Some(signal))
    }

    fn of(most: u64, signal: Option<Arc<AtomicBool>>) -> Self {
        let end = End { signal, origin: Instant::now(), after_ns: u64::MAX.into() };
        Self { count: Arc::new(Count::of(most)), end: Arc::new(end) }
    }

    /// Returns the allowance for a part of the run's work: it has its own steps, and ends with the run.
    pub fn part(&self, most: u64) -> Self {
        Self { count: Arc::new(Count::of(most)), end: Arc::clone(&self.end) }
    }

    /// Allows further steps.
    pub fn grant(&self, steps: u64) {
        let most = self.count.most.load(Relaxed);
        self.count.most.store(most.saturating_add(steps), Relaxed);
    }

    /// Counts steps before they are done.
    ///
    /// # Errors
    /// They are not allowed, now or any more.
    #[inline]
    pub fn spend(&self, steps: u64) -> Result<(), Exhausted> {
        /// Steps between two looks at the clock: some tens of microseconds.
        const LOOK: u64 = 1 << 12;
        let before = self.count.spent.load(Relaxed);
        let after = before.saturating_add(steps);
        self.count.spent.store(after, Relaxed);
        if after > self.count.most.load(Relaxed) {
            return self.refuse(Exhausted::Steps);
        }
        if before / LOOK != after / LOOK { self.check() } else { Ok(()) }
    }

    /// Checks that the run goes on; counts nothing.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&self) -> Result<(), Exhausted> {
        let is_over = self.count.is_withdrawn.load(Relaxed) || self.left().is_zero();
        if is_over { self.refuse(Exhausted::Time) } else { Ok(()) }
    }

    #[cold]
    fn refuse(&self, exhausted: Exhausted) -> Result<(), Exhausted> {
        let code = if exhausted == Exhausted::Time { 2 } else { 1 };
        let _ = self.count.refused.compare_exchange(0, code, Relaxed, Relaxed);
        Err(exhausted)
    }

    /// Returns why steps were refused, if any were: then something is missing.
    pub fn refused(&self) -> Option<Exhausted> {
        match self.count.refused.load(Relaxed) {
            0 => None,
            1 => Some(Exhausted::Steps),
            _ => Some(Exhausted::Time),
        }
    }

    /// Returns the number of steps that were done.
    pub fn spent(&self) -> u64 {
        self.count.spent.load(Relaxed)
    }

    /// Ends the work of the whole run after this time, unless it ends before.
    pub fn end_within(&self, span: Duration) {
        let after = self.end.origin.elapsed() + span;
        self.end.after_ns.fetch_min(after.as_nanos() as u64, Relaxed);
    }

    /// Returns the time to the end of the run.
    fn left(&self) -> Duration {
        let after_ns = self.end.after_ns.load(Relaxed);
        if after_ns == u64::MAX {
            if self.end.signal.as_ref().is_some_and(|signal| signal.load(Relaxed)) {
                self.end_within(AFTER_THE_END);
                return AFTER_THE_END;
            }
            return Duration::MAX;
        }
        Duration::from_nanos(after_ns).saturating_sub(self.end.origin.elapsed())
    }

    /// Returns the result of work that another process's file system can delay. A thread that takes too long is left
    /// alone: it ends at its next step, or with contend.
    ///
    /// # Errors
    /// The work took longer than `patience`, or the run ended; or it panicked.
    pub fn patiently<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Exhausted> {
        const LOOK: Duration = Duration::from_millis(20);
        self.check()?;
        let (until, part) = (Instant::now() + patience, self.part(u64::MAX));
        let (done, result) = channel();
        let allowance = part.clone();
        let started = std::thread::Builder::new().spawn(move || drop(done.send(work(&allowance))));
        started.map_err(|_| Exhausted::Stalled)?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match result.recv_timeout(left.min(LOOK)) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() && self.check().is_ok() => {}
                Err(reason) => {
                    part.count.is_withdrawn.store(true, Relaxed);
                    let is_over = reason == RecvTimeoutError::Timeout && !left.is_zero();
                    return Err(if is_over { Exhausted::Time } else { Exhausted::Stalled });
                }
            }
        }
    }
}

/// Returns the result of a thread that was requested to end; `None` if it does not within this time, and is left alone.
pub fn join_within<T>(thread: JoinHandle<T>, patience: Duration) -> Option<std::thread::Result<T>> {
    const LOOK: Duration = Duration::from_millis(2);
    let until = Instant::now() + patience;
    while !thread.is_finished() {
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(LOOK);
    }
    Some(thread.join())
}

impl Count {
    fn of(most: u64) -> Self {
        Self { spent: 0.into(), most: most.into(), is_withdrawn: false.into(), refused: 0.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_and_their_number_is_the_bound() {
        let allowance = Allowance::of_steps(10);
        assert_eq!([7, 3, 1].map(|steps| allowance.spend(steps)), [Ok(()), Ok(()), Err(Exhausted::Steps)]);
        assert_eq!(allowance.refused(), Some(Exhausted::Steps));
        allowance.grant(5);
        assert_eq!(allowance.spend(1), Ok(()));
        assert_eq!(allowance.spent(), 12);
    }

    #[test]
    fn parts_count_alone_and_end_with_the_run() {
        let run = Allowance::default();
        let part = run.part(5);
        assert_eq!((run.spend(100), part.spend(5), part.spend(1)), (Ok(()), Ok(()), Err(Exhausted::Steps)));
        let other = run.part(u64::MAX);
        run.end_within(Duration::ZERO);
        assert_eq!(other.spend(1 << 20), Err(Exhausted::Time));
    }

    #[test]
    fn a_signal_sets_the_end() {
        let signal = Arc::new(AtomicBool::new(false));
        let run = Allowance::of_run(Arc::clone(&signal));
        assert_eq!(run.left(), Duration::MAX);
        signal.store(true, Relaxed);
        assert!(run.left() <= AFTER_THE_END);
        assert_eq!(run.part(1).check(), Ok(()), "there is time left for what was seen");
    }

    #[test]
    fn abandoned_work_ends_at_its_next_step() {
        let (ended, end) = channel();
        let work = move |allowance: &Allowance| {
            while allowance.spend(1).is_ok() {}
            let _ = ended.send(());
        };
        assert_eq!(Allowance::default().patiently(Duration::ZERO, work), Err(Exhausted::Stalled));
        end.recv_timeout(Duration::from_secs(300)).expect("the thread ends");
    }
}
