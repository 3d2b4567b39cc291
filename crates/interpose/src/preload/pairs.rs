//! Which pairs a thread uses. It takes several at a time: so it comes less and less often to the counter that all share,
//! and its own lie in a row.

use super::me::Me;
use crate::layout::PAIRS;
use core::sync::atomic::Ordering::Relaxed;

/// So many at a time at most: as many as lie in a page.
const MOST: u32 = 64;

/// The place of a pair that nobody uses; `None` if there is none.
pub fn take(me: Me) -> Option<u32> {
    let ([next, end], used) = (&me.thread.pairs, &me.thread.pairs_used);
    if next.load(Relaxed) == end.load(Relaxed) {
        // As many as it used so far: so half of all are taken in vain at most.
        let taken = reserve(me, used.load(Relaxed).clamp(1, MOST))?;
        next.store(taken.start, Relaxed);
        end.store(taken.end, Relaxed);
    }
    let place = next.load(Relaxed);
    next.store(place + 1, Relaxed);
    used.store(used.load(Relaxed) + 1, Relaxed);
    Some(place)
}

fn reserve(me: Me, count: u32) -> Option<core::ops::Range<u32>> {
    let (pairs, all) = (&me.region.header.pairs, PAIRS as u32);
    if pairs.load(Relaxed) >= all {
        return None;
    }
    let first = pairs.fetch_add(count, Relaxed);
    (first < all).then(|| first..all.min(first + count))
}
