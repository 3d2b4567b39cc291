//! A slice of work between two timestamps.

use instruments::clock::Clock;
use instruments::grind::Work;
use std::ops::ControlFlow;

/// How long the work takes in so many pieces, in ticks, the cost of the clock included; between two pieces `flow` says
/// whether to go on.
pub fn slice(clock: Clock, work: Work, pieces: u64, flow: &dyn Fn() -> ControlFlow<()>) -> ControlFlow<(), u64> {
    let piece = Work::of_loads(work.loads() / pieces);
    let rest = Work::of_loads(work.loads() - piece.loads() * (pieces - 1));
    let start = clock.stamp();
    for _ in 1..pieces {
        piece.run();
        flow()?;
    }
    rest.run();
    ControlFlow::Continue(clock.stamp() - start)
}
