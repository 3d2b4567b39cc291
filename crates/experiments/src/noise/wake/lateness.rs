//! What the time between an instant and the wake-up went to, from the kernel's record of the CPU.
//!
//! In order: the timer may be late by the thread's slack; then its interrupt is waited for, by a CPU that idles (its
//! idle state has to be left) or by one that is awake (the timer is late); the interrupt's handler runs, and what it
//! left for later; the CPU leaves its idle loop, or the task that it had goes on until the scheduler switches; and the
//! thread itself returns from the kernel.
//!
//! How long an idle CPU's timer took to fire, and how long the CPU then took to wake, nobody tells apart: both are idle
//! time.

use instruments::evidence::{Cause, Kind, Ran};

/// Divides a lateness, whose story begins at the instant or earlier, between its causes; all times in ticks. The parts
/// add up to it. Where interrupts are not recorded, nobody can say that the timer's was late.
pub fn divide(story: &[Ran], (due, woke): (u64, u64), slack: u64, sees_interrupts: bool) -> Vec<(Cause, u64)> {
    let mut parts = Parts { due, slack, sees_interrupts, has_fired: false, known: 0, sums: Vec::new() };
    for ran in story.iter().filter(|ran| ran.end > due && ran.start < woke || ran.start == ran.end) {
        let (start, end) = (ran.start.max(due), ran.end.min(woke));
        parts.add(&ran.who, start, end.max(start));
    }
    let unknown = (woke - due).saturating_sub(parts.known);
    parts.take(Cause::unnamed(Kind::Unexplained), unknown);
    parts.sums.retain(|(_, ticks)| *ticks > 0);
    parts.sums.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
    parts.sums
}

struct Parts {
    due: u64,
    slack: u64,
    sees_interrupts: bool,
    /// An interrupt came, or was being served when the instant was there.
    has_fired: bool,
    known: u64,
    sums: Vec<(Cause, u64)>,
}

impl Parts {
    fn add(&mut self, who: &Cause, start: u64, end: u64) {
        self.known += end - start;
        match who.kind {
            Kind::Interrupt | Kind::Softirq => {
                self.has_fired = true;
                self.take(who.clone(), end - start);
            }
            // The thread runs: it had not gone to sleep yet, or has woken.
            Kind::Own | Kind::Unexplained => self.take(who.clone(), end - start),
            kind if self.has_fired => {
                // Before it leaves the CPU, a task is what the thread waits for.
                let cause = if kind == Kind::Idle { Cause::unnamed(kind) } else { who.clone() };
                self.take(cause, end - start);
            }
            kind => {
                let allowed = (self.due + self.slack).clamp(start, end) - start;
                self.take(Cause::unnamed(Kind::TimerSlack), allowed);
                let rest = match kind {
                    Kind::Task if self.sees_interrupts => Cause::unnamed(Kind::TimerLate),
                    Kind::Idle => Cause::unnamed(kind),
                    // Whoever it was may have run before the timer's interrupt or after it.
                    _ => who.clone(),
                };
                self.take(rest, end - start - allowed);
            }
        }
    }

    fn take(&mut self, cause: Cause, ticks: u64) {
        match self.sums.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += ticks,
            None => self.sums.push((cause, ticks)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: Kind, name: &str) -> Cause {
        Cause { kind, name: Some(name.into()), pid: None }
    }

    fn ran(start: u64, end: u64, who: Cause) -> Ran {
        Ran { start, end, who }
    }

    /// Kinds with their ticks, the most first.
    fn kinds(story: &[Ran], due: u64, woke: u64, slack: u64) -> Vec<(Kind, u64)> {
        divide(story, (due, woke), slack, true).into_iter().map(|(cause, ticks)| (cause.kind, ticks)).collect()
    }

    #[test]
    fn an_idle_cpu_has_slack_an_idle_state_an_interrupt_and_a_way_back() {
        let story = [
            ran(0, 170, Cause::unnamed(Kind::Idle)),
            ran(170, 173, named(Kind::Interrupt, "local_timer")),
            ran(173, 175, Cause::unnamed(Kind::Idle)),
            ran(175, 200, Cause::unnamed(Kind::Own)),
        ];
        // Due at 100, with a slack of 50: 20 for the idle state, and 2 after the interrupt.
        let found = kinds(&story, 100, 176, 50);
        assert_eq!(found, [(Kind::TimerSlack, 50), (Kind::Idle, 22), (Kind::Interrupt, 3), (Kind::Own, 1)]);
        assert_eq!(kinds(&story, 100, 176, 0)[0], (Kind::Idle, 72));
    }

    #[test]
    fn a_busy_cpu_has_a_late_timer_before_the_interrupt_and_a_task_after_it() {
        let culprit = Cause { kind: Kind::Task, name: Some("culprit".into()), pid: Some(9) };
        let story = [
            ran(90, 110, culprit.clone()),
            ran(110, 112, named(Kind::Interrupt, "local_timer")),
            ran(112, 152, culprit.clone()),
            ran(152, 160, Cause::unnamed(Kind::Own)),
        ];
        let found = divide(&story, (100, 153), 0, true);
        assert_eq!(found[0], (culprit, 40));
        let rest: Vec<_> = found[1..].iter().map(|(cause, ticks)| (cause.kind, *ticks)).collect();
        assert_eq!(rest, [(Kind::TimerLate, 10), (Kind::Interrupt, 2), (Kind::Own, 1)]);
    }

    #[test]
    fn an_interrupt_that_is_served_at_the_instant_is_no_late_timer() {
        let story = [
            ran(80, 130, named(Kind::Interrupt, "virtio")),
            ran(130, 135, Cause::unnamed(Kind::Idle)),
            ran(135, 140, Cause::unnamed(Kind::Own)),
        ];
        assert_eq!(kinds(&story, 100, 136, 50), [(Kind::Interrupt, 30), (Kind::Idle, 5), (Kind::Own, 1)]);
    }

    #[test]
    fn without_interrupts_in_the_record_nothing_is_said_of_the_timer() {
        let culprit = named(Kind::Task, "culprit");
        let story = [ran(90, 152, culprit.clone()), ran(152, 160, Cause::unnamed(Kind::Own))];
        let found = divide(&story, (100, 153), 10, false);
        assert_eq!(found[0], (culprit, 42));
        assert_eq!(found[1], (Cause::unnamed(Kind::TimerSlack), 10));
        let unknown = Cause::unnamed(Kind::SwitchedOut);
        assert_eq!(kinds(&[ran(90, 150, unknown)], 100, 150, 0), [(Kind::SwitchedOut, 50)]);
    }

    #[test]
    fn without_a_record_it_is_unexplained() {
        assert_eq!(kinds(&[], 100, 150, 50), [(Kind::Unexplained, 50)]);
    }
}
