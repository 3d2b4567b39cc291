//! A window of work between two timestamps.

use instruments::clock::Clock;
use instruments::grind::Work;
use std::ops::ControlFlow;

/// Returns the time of the work in this many pieces, in ticks, the cost of the clock included.
///
/// Between two pieces `between` decides whether to continue; its own time is not part of the work.
pub fn slice(
    clock: Clock,
    work: Work,
    pieces: u64,
    between: &mut dyn FnMut() -> ControlFlow<()>,
) -> ControlFlow<(), u64> {
    let piece = Work::of_loads(work.loads() / pieces);
    let rest = Work::of_loads(work.loads() - piece.loads() * (pieces - 1));
    let (mut start, mut ticks) = (clock.stamp(), 0);
    for _ in 1..pieces {
        piece.run();
        ticks += clock.stamp() - start;
        between()?;
        start = clock.stamp();
    }
    rest.run();
    ControlFlow::Continue(ticks + clock.stamp() - start)
}
