//! Sleeping: each of those that wait for something else, on the word that tells of it.

use super::{ASLEEP, MOST_READERS, NEXT_ASLEEP, RwLockFair, WRITER, WRITER_BITS, class, readers};
use crate::{
    atomic::Ordering::{Acquire, Relaxed, SeqCst},
    count::Count,
    futex::{self, Scope},
};

impl<S: Scope, C: Count> RwLockFair<S, C> {
    /// Sleeps until the writer that this reader found has gone.
    #[cold]
    pub(super) fn await_writer(&self, writer: u32) {
        self.counts.read_contended();
        loop {
            let now = self.arrived.load(Acquire);
            if now & WRITER_BITS != writer {
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.arrived, now, futex::ALL, None);
        }
    }

    /// Whether as many readers are here as may be. Those that have gone are looked at first: who comes and goes between
    /// the two looks only makes the number larger, which the next try corrects.
    #[cold]
    pub(super) fn is_crowded(&self) -> bool {
        (0..4).all(|_| {
            let departed = self.departed.load(Acquire);
            readers(self.arrived.load(Relaxed), departed) >= MOST_READERS
        })
    }

    /// Sleeps until fewer readers are here. The caller is counted already, which does no harm: there are fewer threads
    /// than the counts still have room for.
    #[cold]
    pub(super) fn await_fewer_readers(&self) {
        while self.is_crowded() {
            futex::nap(None);
        }
    }

    #[cold]
    pub(super) fn await_turn(&self, mine: u32) {
        self.counts.write_contended();
        loop {
            let now = self.serving.load(SeqCst);
            if now == mine {
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.serving, now, class(mine), None);
        }
    }

    /// Sleeps until as many readers have gone as had come.
    #[cold]
    pub(super) fn await_readers(&self, come: u32, counted: bool) {
        if !counted {
            self.counts.write_contended();
        }
        loop {
            let now = self.departed.fetch_or(ASLEEP, Acquire) | ASLEEP;
            if now & !ASLEEP == come {
                self.departed.fetch_and(!ASLEEP, Relaxed);
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.departed, now, futex::ALL, None);
        }
    }

    /// Sleeps until the writer that has named this one has left too: it is about to.
    #[cold]
    pub(super) fn await_leaving(&self) {
        loop {
            let now = self.arrived.load(Relaxed);
            if now & WRITER == 0 {
                return;
            }
            let marked = now | NEXT_ASLEEP;
            if now == marked || self.arrived.compare_exchange(now, marked, Relaxed, Relaxed).is_ok() {
                self.counts.slept();
                futex::wait::<S>(&self.arrived, marked, futex::ALL, None);
            }
        }
    }
}
