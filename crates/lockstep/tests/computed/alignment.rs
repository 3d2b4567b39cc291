//! Aligned clocks: the true offset is within the stated error, on any network path.

use lockstep::alignment::{Alignment, Exchange, Meeting};

/// A clock with an offset and a drift.
struct Other {
    off_ns: f64,
    drift: f64,
}

impl Other {
    fn reading_at(&self, reference_ns: f64) -> f64 {
        (reference_ns - self.off_ns) / (1.0 + self.drift)
    }

    fn meet(&self, from_ns: f64, ways: &mut impl FnMut() -> f64) -> Meeting {
        let mut now = from_ns;
        let exchanges: Vec<Exchange> = (0..100)
            .map(|_| {
                let asked_ns = now;
                let there = asked_ns + ways();
                now = there + ways();
                Exchange { asked_ns, there_ns: self.reading_at(there), answered_ns: now }
            })
            .collect();
        Meeting::of(&exchanges).unwrap()
    }
}

#[test]
fn moment_between_two_meetings_is_within_the_stated_error() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let other = Other { off_ns: 1e12 * (rng.f64() - 0.5), drift: 1e-4 * (rng.f64() - 0.5) };
        // One way may be much slower than the other, and some messages are delayed by a millisecond.
        let mut late = rng.fork();
        let mut ways = || if late.u8(..10) == 0 { 1e6 * late.f64() } else { 200.0 + 3_000.0 * late.f64() };
        let (before, after) = (other.meet(1e9, &mut ways), other.meet(3e9, &mut ways));
        let line = Alignment::through(before, after);
        for place in 0..=10 {
            let reference_ns = 1.001e9 + 1.999e9 * f64::from(place) / 10.0;
            let off = (line.reference_ns(other.reading_at(reference_ns)) - reference_ns).abs();
            // A meeting lasts as long as its exchange, in which the clock drifts a little.
            assert!(off <= line.error_ns() + 1.0, "seed {seed}: off by {off} ns, {} stated", line.error_ns());
        }
        // The share of the reference's time that its own clock loses.
        assert!((line.drift() - other.drift).abs() < 1e-5, "{} {}", line.drift(), other.drift);
    }
}

#[test]
fn offset_is_that_of_the_shortest_round_trip() {
    let exchange = |asked_ns, there_ns, answered_ns| Exchange { asked_ns, there_ns, answered_ns };
    let found = Meeting::of(&[exchange(0.0, 900.0, 1_000.0), exchange(2_000.0, 2_040.0, 2_100.0)]).unwrap();
    assert_eq!(found, Meeting { there_ns: 2_040.0, offset_ns: 10.0, error_ns: 50.0 });
    assert_eq!(Meeting::of(&[]), None);
}
