//! A team of threads some of which may never come back: they run code of a stranger's.

use super::threads::serve;
use super::{Member, StartGate, TeamError};
use crate::clock::Clock;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

/// How often somebody looks whether those that should have ended have.
const LOOK: Duration = Duration::from_millis(50);
/// In the middle of a long window seldom, and hardly ever in a short one: whoever looks takes a CPU from the members.
const LOOK_WITHIN: Duration = Duration::from_secs(1);
/// So many looks at which nobody had come on are patience enough: five seconds, and what they may take by themselves.
/// Not so long a time, in which the whole process may have been stopped.
const MOST_LOOKS: u32 = 100;

/// Lets all members work as [`work_together`](super::work_together) does, but waits for ever for nobody: if none of
/// those that should have ended ends for five seconds and as long as `own` besides, which one of them may take with
/// nothing wrong, they are left behind.
///
/// That is safe because members own what they touch. What is left behind stays as it is until the process ends, and may
/// take CPU time. `is_lost` tells of members that are known not to come back: then there is no need for patience.
///
/// # Errors
/// As [`work_together`](super::work_together), and [`TeamError::LeftBehind`].
///
/// # Panics
/// When a member panics, once the others have ended.
pub fn work_together_or_leave(
    clock: Clock,
    length: Duration,
    own: Duration,
    members: Vec<Member<'static>>,
    is_lost: impl Fn() -> bool,
) -> Result<(), TeamError> {
    let most_looks = MOST_LOOKS.saturating_add((own.as_millis() / LOOK.as_millis()) as u32);
    let gate = Arc::new(StartGate::new(clock, members.len(), length));
    let (sender, ended) = mpsc::channel();
    let (mut left, mut outcome) = (0, Ok(()));
    for member in members {
        let (gate, sender) = (Arc::clone(&gate), sender.clone());
        let work = move || {
            let served = catch_unwind(AssertUnwindSafe(|| serve(&gate, member)));
            // Whoever was left behind and comes back after all finds nobody.
            let _ = sender.send(served);
        };
        if let Err(source) = Builder::new().spawn(work) {
            outcome = Err(TeamError::Spawn { started: left, source });
            break;
        }
        left += 1;
    }
    if outcome.is_err() {
        gate.cancel();
    }
    let (mut looks, mut ready, mut panic) = (0, 0, None);
    while left > 0 {
        match ended.recv_timeout(gate.left().clamp(LOOK, LOOK_WITHIN)) {
            Ok(served) => {
                (left, looks) = (left - 1, 0);
                match served {
                    Ok(served) => outcome = outcome.and(served),
                    Err(payload) => panic = Some(payload),
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let has_come_on = !gate.left().is_zero() || ready != gate.ready_members();
                ready = gate.ready_members();
                looks = if has_come_on { 0 } else { looks + 1 };
                if looks >= most_looks || is_lost() {
                    gate.cancel();
                    gate.stop_at(0);
                    return Err(TeamError::LeftBehind { members: left });
                }
            }
        }
    }
    panic.map_or(outcome, |payload| resume_unwind(payload))
}

/// What `work` gives on a thread of its own, which is left behind if it does not come back, as those of
/// [`work_together_or_leave`].
///
/// # Errors
/// The system refuses the thread; it was left behind.
///
/// # Panics
/// When `work` does.
pub fn work_or_leave<T: Send + 'static>(
    clock: Clock,
    work: impl FnOnce() -> T + Send + 'static,
    is_lost: impl Fn() -> bool,
) -> Result<T, TeamError> {
    let (sender, done) = mpsc::channel();
    let job = move |gate: &StartGate| {
        if gate.ready().is_some() {
            let _ = sender.send(work());
        }
    };
    let member = Member { cpu: None, job: Box::new(job) };
    work_together_or_leave(clock, Duration::ZERO, Duration::ZERO, vec![member], is_lost)?;
    done.recv().map_err(|_| TeamError::LeftBehind { members: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(10)).clock
    }

    fn member(job: impl FnOnce(&StartGate) + Send + 'static) -> Member<'static> {
        Member { cpu: None, job: Box::new(job) }
    }

    fn forever() -> ! {
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn whoever_is_known_to_be_lost_is_left_behind_at_once_and_the_others_end() {
        let others = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&others);
        let waits = member(move |gate| {
            assert!(gate.ready().is_some());
            ended.store(true, Ordering::Relaxed);
        });
        let hangs = member(|gate| {
            gate.ready();
            forever()
        });
        let began = Instant::now();
        let left =
            work_together_or_leave(clock(), Duration::from_millis(5), Duration::ZERO, vec![waits, hangs], || {
                others.load(Ordering::Relaxed)
            });
        assert!(matches!(left, Err(TeamError::LeftBehind { members: 1 })), "{left:?}");
        assert!(began.elapsed() < LOOK * MOST_LOOKS, "no thread waited for the limit");
    }

    #[test]
    fn one_that_hangs_before_the_start_is_left_behind_when_nobody_comes_on() {
        let waits = member(|gate| assert!(gate.ready().is_none()));
        let members = vec![waits, member(|_| forever())];
        let left = work_together_or_leave(clock(), Duration::from_millis(5), Duration::ZERO, members, || false);
        assert!(matches!(left, Err(TeamError::LeftBehind { .. })), "{left:?}");
    }

    #[test]
    fn work_that_comes_back_gives_what_it_gives() {
        assert_eq!(work_or_leave(clock(), || 7, || false).unwrap(), 7);
    }

    #[test]
    fn a_panic_is_passed_on() {
        let outcome = std::panic::catch_unwind(|| work_or_leave(clock(), || panic!("on purpose"), || false));
        assert!(outcome.is_err());
    }
}
