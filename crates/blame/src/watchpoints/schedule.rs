//! Windows in which a process is watched at a cost to it.

use std::time::Instant;

/// The schedule of the windows: the cost of the accesses, and of opening and closing, stays within a share of the time.
pub struct Schedule {
    budget: f64,
    limits: Limits,
    began: Instant,
    spent_s: f64,
    /// Begin of the open window, and its accesses.
    open: Option<(Instant, u64)>,
}

/// A window is open for at least this long, unless it has this many accesses.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub window_s: f64,
    pub accesses: u64,
}

impl Schedule {
    /// `budget` is the part of one CPU's time that watching may take.
    pub fn new(budget: f64, limits: Limits, began: Instant) -> Self {
        Self { budget, limits, began, spent_s: 0.0, open: None }
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns whether a window is due.
    pub fn is_due(&self, now: Instant) -> bool {
        self.open.is_none() && !self.is_overspent(now)
    }

    /// Notes that a window was opened, which took so long.
    pub fn opened(&mut self, now: Instant, took_s: f64) {
        self.open = Some((now, 0));
        self.spent_s += took_s;
    }

    /// Notes accesses, and returns whether the window must be closed.
    pub fn spend(&mut self, accesses: u64, cost_ns: f64, now: Instant) -> bool {
        self.spent_s += accesses as f64 * cost_ns / 1e9;
        let is_overspent = self.is_overspent(now);
        let Some((since, seen)) = &mut self.open else { return false };
        *seen += accesses;
        is_overspent && ((now - *since).as_secs_f64() >= self.limits.window_s || *seen >= self.limits.accesses)
    }

    /// Notes that the window was closed, which took so long; returns its length.
    pub fn closed(&mut self, now: Instant, took_s: f64) -> f64 {
        self.spent_s += took_s;
        self.open.take().map_or(0.0, |(since, _)| (now - since).as_secs_f64())
    }

    fn is_overspent(&self, now: Instant) -> bool {
        self.budget < 1.0 && self.spent_s > self.budget * (now - self.began).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMITS: Limits = Limits { window_s: 0.02, accesses: 4_096 };

    /// Simulates a process that accesses the word every 10 µs, each at a cost of 50 µs.
    #[test]
    fn windows_keep_the_cost_within_the_budget() {
        let (began, tick) = (Instant::now(), Duration::from_millis(1));
        let mut schedule = Schedule::new(0.02, LIMITS, began);
        let (mut open_ticks, mut windows) = (0, 0);
        for count in 0..60_000_u32 {
            let now = began + tick * count;
            if schedule.is_due(now) {
                schedule.opened(now, 0.0);
                windows += 1;
            } else if schedule.is_open() {
                open_ticks += 1;
                if schedule.spend(16, 50_000.0, now) {
                    schedule.closed(now, 0.0);
                }
            }
        }
        let cost_s = f64::from(open_ticks) * 16.0 * 50e-6;
        assert!((0.8..=1.25).contains(&(cost_s / (0.02 * 60.0))), "{cost_s}");
        assert!(windows > 30, "{windows}");
        let mut always = Schedule::new(1.0, LIMITS, began);
        always.opened(began, 0.0);
        assert!(!always.spend(1 << 20, 50_000.0, began + tick));
    }
}
