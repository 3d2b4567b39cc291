//! Handmade rows of the experiment, for the tests of the views.

use super::record::{Cost, Hour, Memory, PairRow, Piece, Row, Stretches};
use instruments::statistics::Interval;
use record::Bin;

/// Returns a CPU whose core was shared for this share of the time.
pub fn row(cpu: usize, shared_share: Option<f64>) -> Row {
    let cost = |kind: &str, alone_ns: f64, ratio: f64| Cost {
        kind: kind.to_owned(),
        alone_ns: Some(alone_ns),
        shared_ns: Some(alone_ns * ratio),
        ratio: Some(ratio),
        ratio_ci: Some(Interval::new(ratio * 0.99, ratio * 1.01)),
    };
    Row {
        cpu,
        steps: 400_000,
        shared_share,
        shared_share_ci: shared_share.map(|share| Interval::new((share - 0.06).max(0.0), share + 0.06)),
        neither_share: 0.02,
        best_ticks: Some(2.25),
        best_cycles: Some(3.0),
        doubt: None,
        frequency_ghz: Some(2.8),
        cost_width: Some(1.75),
        cost_latency: Some(1.0),
        costs: vec![cost("width", 430.0, 1.75), cost("latency", 640.0, 1.0)],
        stretches: Stretches {
            count: 3,
            median_ms: Some(2.0),
            longest_ms: Some(80.0),
            histogram: vec![Bin { from_ns: 1e6, to_ns: 2e6, count: 2 }, Bin { from_ns: 64e6, to_ns: 128e6, count: 1 }],
        },
        timeline: (0..240).map(|place| Piece { from_s: f64::from(place) / 24.0, shared_share }).collect(),
        hours: shared_share
            .map(|shared_share| Hour { hour: 9, steps: 390_000, seconds: 10.0, shared_share })
            .into_iter()
            .collect(),
        memory: Some(Memory {
            count: 1_000,
            latency_p10_ns: 70.0,
            latency_p50_ns: 85.0,
            latency_p90_ns: 130.0,
            read_p50_gb_per_s: 9.0,
            read_p10_gb_per_s: 6.0,
        }),
        checked: 25_000,
        agreement_share: Some(0.998),
        beside: Vec::new(),
        pairs: vec![PairRow {
            cpu: 1 - cpu.min(1),
            shares: Some(false),
            narrowing: 1.01,
            narrowing_ci: Some(Interval::new(0.99, 1.02)),
            line_ns: 61.0,
        }],
    }
}
