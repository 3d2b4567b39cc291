//! The cost of interruptions for many machines that compute bulk-synchronously: each step ends when the slowest
//! machine has ended it.
//!
//! `lockstep STEP_US SPAN_S TRACE` reads a trace of one machine's interruptions, a `start_ns duration_ns` per line.
//! It prints the slowdown for 1 to 10 million machines that are each interrupted like this machine, independently.
//! Without arguments, it uses a gap of 1 ms once a second and steps of 1 ms.
use chance::{Delay, Gap, Gaps, GapsError};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let step = match arguments.as_slice() {
        [] => synthetic()?,
        [step_us, span_s, trace] => {
            let span_ns = (span_s.parse::<f64>()? * 1e9) as u64;
            Gaps::parse(&std::fs::read_to_string(trace)?, Some(span_ns))?.gaps.delay(step_us.parse::<u64>()? * 1_000)?
        }
        _ => return Err("usage: lockstep [STEP_US SPAN_S TRACE]".into()),
    };
    print(&step);
    Ok(())
}

/// Returns the delay for a gap of 1 ms once a second and steps of 1 ms.
fn synthetic() -> Result<Delay, GapsError> {
    Gaps::new([Gap { start_ns: 0, duration_ns: 1_000_000 }], 1_000_000_000)?.delay(1_000_000)
}

fn print(step: &Delay) {
    let work_us = step.work_ns() as f64 / 1e3;
    println!("{:>10} {:>12} {:>12} {:>12} {:>9}", "nodes", "mean_us", "p50_us", "p99_us", "slowdown");
    for nodes in (0..=7).map(|power| 10_u64.pow(power)) {
        let quantile = |p: f64| {
            let shown = format!("{:.1}", work_us + step.slowest_quantile_ns(nodes, p) / 1e3);
            if step.supports(nodes, p) { shown } else { format!("≥ {shown}") }
        };
        let (mean_us, slowdown) = (work_us * step.slowdown(nodes), step.slowdown(nodes));
        println!("{nodes:>10} {mean_us:>12.1} {:>12} {:>12} {slowdown:>9.4}", quantile(0.5), quantile(0.99));
    }
    println!("\nall nodes interrupted at once: {:.4}, however many they are", step.slowdown_together());
    match step.workers_for(2.0) {
        Some(nodes) => println!("half the time is lost from {nodes} nodes on"),
        None => println!("half the time is not lost with ten million nodes"),
    }
    println!("≥: the trace is too short to tell; nodes are taken to be independent, the trace to repeat");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that starts in a gap waits for the rest of it; a step that meets a gap waits for all of it.
    ///
    /// With the shares 1/1000 each, the delay has F(x) = 0.998 + 0.001·x up to 1 ms. The slowest of N has the mean ∫
    /// 1 − F(x)^N dx.
    #[test]
    fn the_synthetic_trace_has_its_closed_form() {
        let step = synthetic().unwrap();
        for nodes in [1_u64, 1_000, 1_000_000, 10_000_000] {
            let n = nodes as f64;
            let lost = 1.0 - (0.999_f64.powf(n + 1.0) - 0.998_f64.powf(n + 1.0)) / (0.001 * (n + 1.0));
            let closed = 1.0 + lost;
            assert!((step.slowdown(nodes) / closed - 1.0).abs() < 1e-9, "{nodes}: {} {closed}", step.slowdown(nodes));
            assert!((step.slowdown_together() - 1.0015).abs() < 1e-12);
        }
    }

    #[test]
    fn half_the_time_is_approached_and_never_lost() {
        assert_eq!(synthetic().unwrap().workers_for(2.0), None);
        let half = synthetic().unwrap().workers_for(1.5).unwrap();
        assert!(synthetic().unwrap().slowdown(half) >= 1.5 && synthetic().unwrap().slowdown(half - 1) < 1.5);
    }
}
