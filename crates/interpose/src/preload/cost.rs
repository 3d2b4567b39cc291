//! The cost of noting calls, measured once, when the library is loaded: the reader lowers the recording by it.

use super::clock::now;
use super::me::Me;
use super::record::{keep, released_alone, taken_again};
use crate::layout::{Header, Kind, LOCKS, Region, SAMPLE_OF, THREADS};
use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;

const ROUNDS: u64 = Header::ROUNDS as u64;
/// Measurements, of which the shortest counts: an interrupt lengthens one of them.
const TURNS: usize = 4;
/// A lock and a call site that no program has.
const LOCK: usize = 8;
const SITE: usize = 8;

/// Measures at the place of the last thread, which is given to none but the last of many thousand.
pub fn measure(region: &'static Region) {
    let header = &region.header;
    if header.pairs_cost.load(Relaxed) != 0 || header.threads.load(Relaxed) as usize >= THREADS {
        return;
    }
    let thread = &region.threads[THREADS - 1];
    let (me, last) = (Me { thread, region }, &thread.last);
    let distance = core::ptr::from_ref(&thread.places[0]).addr() - core::ptr::from_ref(thread).addr();
    last.found.store((distance / size_of_val(&thread.places[0])) as u32, Relaxed);
    last.lock_place.store(LOCKS as u32 - 1, Relaxed);
    last.site.store(SITE as u64, Relaxed);
    last.lock.store(LOCK as u64, Relaxed);
    let clock = least(|| {
        black_box(now());
    });
    let pair = least(|| {
        black_box(taken_again(black_box(me), LOCK, SITE, Kind::Mutex));
        black_box(released_alone(black_box(me), LOCK));
    });
    let event = least(|| {
        thread.head.store(0, Relaxed);
        keep(black_box(me), 1, [0; 5]);
    });
    last.lock.store(0, Relaxed);
    [&thread.head, &thread.places[0].acquisitions].iter().for_each(|word| word.store(0, Relaxed));
    thread.state.store(0, Relaxed);
    let timed = if header.level.load(Relaxed) == 1 { SAMPLE_OF } else { 1 };
    header.waits_cost.store((event + 2 * clock) as u32, Relaxed);
    header.pairs_cost.store((pair + 2 * clock / timed).max(1) as u32, Relaxed);
}

/// Returns the ticks that the rounds take.
fn least(round: impl Fn()) -> u64 {
    let turn = || {
        let began = now();
        (0..ROUNDS).for_each(|_| round());
        now().saturating_sub(began)
    };
    (0..TURNS).map(|_| turn()).min().unwrap_or(0)
}
