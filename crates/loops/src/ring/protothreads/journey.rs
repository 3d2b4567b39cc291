//! A token on its way: when it set out, where it ended.

use super::successor::Successor;
use crate::ring::ring_spec::{RingResult, RingSpec};
use protothreads::Report;
use std::cell::Cell;
use std::io;
use std::time::Instant;

/// A token as the threads keep it.
///
/// # Errors
/// More hops than it can count.
pub fn token_for(hops: u64) -> io::Result<u32> {
    hops.try_into().map_err(|_| io::Error::other(format!("{hops} hops are more than a token of 32 bits can count")))
}

/// When the token set out, and where and when it came to its end.
#[derive(Default)]
pub struct Journey {
    pub began: Cell<Option<Instant>>,
    pub ended: Cell<Option<(usize, Instant)>>,
}

impl Journey {
    /// A thread got the last token.
    #[cold]
    #[inline(never)]
    pub fn end(&self, place: usize) {
        self.ended.set(Some((place, Instant::now())));
    }

    /// All threads wait, and the token sets out.
    pub fn begin(&self) {
        self.began.set(Some(Instant::now()));
    }

    /// Called when all threads wait: at first to have the token `set_out`, and then to end the run.
    pub fn idle(&self, set_out: impl FnOnce()) -> bool {
        if self.began.get().is_some() {
            return false;
        }
        self.begin();
        set_out();
        true
    }

    pub fn result<N: Successor>(&self, spec: &RingSpec, report: Report) -> io::Result<RingResult> {
        let lost = || io::Error::other("the token was lost");
        let (began, (place, ended)) = self.began.get().zip(self.ended.get()).ok_or_else(lost)?;
        let hops_ns = ended.duration_since(began).as_nanos() as f64;
        Ok(RingResult { answer: N::number(spec, place), hops_ns, wasted_polls: Some(report.wasted_polls) })
    }
}
