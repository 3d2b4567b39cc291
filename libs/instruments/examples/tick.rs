//! The kernel's tick by two methods from the same gaps: the search for periods, and a plain fold at a known
//! frequency.
//!
//! `cargo run --release -p instruments --example tick -- HZ`
//!
//! The fold is independent of the search.

use instruments::clock::Clock;
use instruments::gaps::{Limit, Reader};
use instruments::period::{Folded, Gap, find_among, fold};
use instruments::team::on_cpu;
use std::error::Error;
use std::ops::ControlFlow;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let hz: f64 = std::env::args().nth(1).map_or(Ok(250.0), |hz| hz.parse())?;
    let (gaps, span_ns) = watched()?;
    let rate = gaps.len() as f64 / span_ns * 1e9;
    let Folded { gaps: begun, median_gap_ns: length_ns } = fold(&gaps, 1e9 / hz).ok_or("no gap at all")?;
    println!("folded at {hz} Hz: {begun} gaps of {:.1} us in one bin, of {rate:.0} a second", length_ns / 1e3);
    let found = find_among(&gaps, span_ns, &[hz]);
    match found.iter().find(|found| (1e9 / found.period_ns / hz - 1.0).abs() < 0.01) {
        Some(tick) => println!(
            "searched: {:.2} Hz, {} gaps of {:.1} us, {:.2} of the fold's length",
            1e9 / tick.period_ns,
            tick.gaps,
            tick.median_gap_ns / 1e3,
            tick.median_gap_ns / length_ns
        ),
        None => println!("searched: not resolved"),
    }
    Ok(())
}

/// Returns the gaps of two seconds on CPU 0, and the length of the watch, in nanoseconds.
fn watched() -> Result<(Vec<Gap>, f64), Box<dyn Error>> {
    let clock = Clock::calibrate(Duration::from_millis(200)).clock;
    let limit = Limit { length: Duration::from_secs(2), passes: u64::MAX };
    let watch = on_cpu(0, || Reader::new(clock, 1 << 20).read(limit, |_, _| ControlFlow::Continue(())))?;
    let gap = |gap: &instruments::gaps::Gap| Gap {
        start_ns: clock.to_ns(gap.start - watch.start),
        duration_ns: clock.to_ns(gap.length),
    };
    Ok((watch.gaps.iter().map(gap).collect(), clock.to_ns(watch.span)))
}
