//! Criterion with an exclusive core: the same loop with all batches, and without the batches with SMT interference.
//!
//! `cargo bench -p instruments --bench alone`

use criterion::Criterion;
use instruments::clock::Clock;
use instruments::neighbour::Alone;
use std::hint::black_box;
use std::time::Duration;

/// Runs eight independent generators: limited by the number of instructions that the core issues, of which an SMT
/// sibling takes half.
fn wide(states: &mut [u64; 8]) {
    for _ in 0..64 {
        for state in states.iter_mut() {
            *state = (*state ^ (*state << 13)).rotate_left(7).wrapping_add(1);
        }
    }
    black_box(states);
}

fn main() {
    let clock = Clock::calibrate(Duration::from_millis(50)).clock;
    let mut alone = Alone::new(clock);
    let mut states = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("as it comes", |bencher| bencher.iter(|| wide(&mut states)));
    criterion.bench_function("alone on the core", |bencher| {
        bencher.iter_custom(|iterations| alone.time(iterations, || wide(&mut states)));
    });
    criterion.final_summary();
    if let Some(share) = alone.left_out_share() {
        println!("{:.1} % of the batches were excluded", share * 100.0);
    }
}
