//! A sleeping thread's account of a night, for the test of the night.

use super::account::Account;
use super::sleeper::{Piece, Wake};
use instruments::clock::Clock;
use instruments::evidence::Timeline;

pub struct Sleeping {
    account: Account,
    clock: Clock,
}

impl Sleeping {
    pub const A_PIECE: u64 = 20;

    pub fn new(cpu: usize, clock: Clock) -> Self {
        Self { account: Account::new(cpu, clock, 0, 0), clock }
    }

    /// Adds a piece that begins then, in ticks, with its kernel trace.
    pub fn piece(&mut self, start: u64, timeline: &Timeline) {
        let wake = |number: u64| {
            let serial = self.account.late().count() + number;
            let late_ns = 5_000 + serial.wrapping_mul(2_654_435_761) % 300_000;
            let woke = start + self.clock.to_ticks((number + 1) as f64 * 40e6);
            Wake { woke, late_ns, cpu: self.account.cpu }
        };
        let wakes = (0..Self::A_PIECE).map(wake).collect();
        self.account.add(&Piece { wakes, span: (0, 1), skipped: 0, is_stopped: false }, Some(timeline));
    }

    pub fn wakes(&self) -> u64 {
        self.account.late().count()
    }
}
