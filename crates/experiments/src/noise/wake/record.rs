//! The record: a row for each CPU and interval, and its values that are compared with other records.

use super::plan::DEFAULT_BUDGET;
use crate::noise::by_us::{self, UsCount};
use crate::noise::plan::Parameters;
use crate::noise::record::{CauseRow, far_end};
use crate::noise::timer::Timer;
use clap::ValueEnum;
use harness::StoryPart;
use instruments::cpus::CpuSet;
use instruments::evidence::{Cause, EvidenceQuality, Source};
use instruments::statistics::Interval;
use record::{Bin, Cell, Metric, VariationSource};
use serde::{Deserialize, Serialize};

/// The wake-up latency of one CPU's thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeRow {
    /// Always `wake`.
    pub scenario: String,
    /// The CPU on which the thread woke: the one that it is pinned to, or, with a deadline, where the kernel put it.
    pub cpu: usize,
    pub interval_us: f64,
    /// The policy: `other`, `fifo:80` or `deadline`.
    pub policy: String,
    pub timer: Timer,
    /// The timer slack of the thread, by which the kernel may delay its timer.
    pub slack_us: f64,
    /// The number of wake-ups.
    pub count: u64,
    /// The number of instants that had passed before the thread could sleep until them.
    pub skipped: u64,
    /// The time in which it slept and woke.
    pub span_s: f64,
    pub late_min_us: f64,
    pub late_p50_us: f64,
    pub late_p50_ci_us: Option<Interval>,
    pub late_p99_us: f64,
    /// Its 95 % interval, and those of the two below: `null` for too few wake-ups; older records lack them.
    #[serde(default)]
    pub late_p99_ci_us: Option<Interval>,
    pub late_p999_us: f64,
    #[serde(default)]
    pub late_p999_ci_us: Option<Interval>,
    /// `null` for fewer than 10,000 wake-ups.
    #[serde(default)]
    pub late_p9999_us: Option<f64>,
    #[serde(default)]
    pub late_p9999_ci_us: Option<Interval>,
    pub late_max_us: f64,
    /// The clusters of the latencies, the largest first.
    pub spikes: Vec<WakeSpike>,
    /// The share of the wake-ups that belong to no spike.
    pub leftover_share: f64,
    /// 16 bins per octave; empty bins are omitted.
    pub histogram: Vec<Bin>,
    /// The number of wake-ups by latency, with `--histogram`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_by_us: Vec<UsCount>,
    /// The causes of the time between instant and wake-up, the largest first; the shares add up to 1.
    pub causes: Vec<CauseRow>,
    /// The share of it that has evidence from the kernel; `null` where there is none.
    pub explained_share: Option<f64>,
    /// The latest wake-ups, the latest first, with the threads that ran in the meantime.
    pub latest: Vec<LateWake>,
    /// The wake-up at which `--stop-above` ended it.
    pub stopped: Option<LateWake>,
    pub evidence: Source,
    /// The coverage of the evidence.
    pub ledger: Option<EvidenceQuality>,
    /// The role of this CPU, if several CPUs were measured.
    pub role: Option<String>,
    /// The number of interrupts that may be routed to the CPU; `null` where it is unknown, as in older records.
    #[serde(default)]
    pub irqs: Option<usize>,
}

/// A cluster of latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeSpike {
    /// The letter; `A` has the largest share.
    pub label: String,
    /// The share of all wake-ups.
    pub share: f64,
    pub count: u64,
    pub median_us: f64,
    pub from_us: f64,
    pub to_us: f64,
    /// The spike that this one repeats after a constant delay.
    pub echo_of: Option<String>,
    pub delay_us: Option<f64>,
    /// The main cause of the time of its wake-ups; `null` without evidence.
    pub cause: Option<Cause>,
    /// The cause's share of that time.
    pub cause_share: Option<f64>,
}

/// One late wake-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateWake {
    /// The instant at which it was due, since the run began.
    pub start_s: f64,
    pub late_us: f64,
    #[serde(flatten)]
    pub cause: Cause,
    /// The time of the main cause.
    pub cause_us: f64,
    /// The tasks that had the CPU, from a little before the instant until the thread ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<StoryPart>,
}

/// Returns the command that follows: a real-time thread after one of the default policy, with the same options, or the
/// gaps of the CPU with the latest wake-up.
pub fn next(parameters: &Parameters, rows: &[WakeRow]) -> Option<Vec<String>> {
    let latest = rows.iter().max_by(|one, other| one.late_max_us.total_cmp(&other.late_max_us))?;
    let has_histogram = rows.iter().any(|row| !row.late_by_us.is_empty());
    let Some(wake) = parameters.wake.as_ref().filter(|_| latest.policy == "other") else {
        return Some(parameters.further(&["noise", "--cpus", &latest.cpu.to_string()], has_histogram));
    };
    let periods: Vec<String> = wake.intervals_us.iter().map(|us| format!("{us}us")).collect();
    let cpus: CpuSet = wake.cpus.iter().copied().collect();
    let words = ["noise", "--wake", &periods.join(","), "--policy", "fifo:80", "--cpus", &cpus.to_string()];
    let mut words = parameters.further(&words, has_histogram);
    let timer = (wake.timer != Timer::ClockNanosleep).then(|| wake.timer.to_possible_value()).flatten();
    let options = [
        ("--timer", timer.map(|timer| timer.get_name().to_owned())),
        ("--stop-above", parameters.stop_above_us.map(|us| format!("{us}us"))),
        ("--seconds", parameters.budget_s.filter(|&s| s != DEFAULT_BUDGET.as_secs_f64()).map(|s| s.to_string())),
    ];
    words.extend(options.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?])).flatten());
    Some(words)
}

impl WakeRow {
    /// Returns the latency that a thousandth of the wake-ups exceeds; `None` for too few of them.
    pub fn p999_us(&self) -> Option<f64> {
        (self.count >= by_us::least_count(by_us::ABOVE_P999)).then_some(self.late_p999_us)
    }
}

pub fn metrics(row: &WakeRow) -> Vec<Metric> {
    let every = format!("every {}", terminal::nanoseconds(row.interval_us * 1e3));
    let cell = Cell::of(["wake-ups".to_owned(), every, row.policy.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let metric = |figure, us: f64, ends: Option<Interval>| {
        Metric::time(&cell, figure, us * 1e3, ends.map(|ends| ends.scaled(1e3)))
    };
    let body = [
        metric("late p50", row.late_p50_us, row.late_p50_ci_us),
        metric("late p99", row.late_p99_us, row.late_p99_ci_us),
    ];
    let body = body.map(|metric| Metric { variation: VariationSource::Others, ..metric });
    let tail = [
        row.p999_us().map(|us| metric("late p99.9", us, row.late_p999_ci_us)),
        row.late_p9999_us.map(|us| metric("late p99.99", us, row.late_p9999_ci_us)),
        Some(metric("late, longest", row.late_max_us, None)),
    ];
    body.into_iter().chain(tail.into_iter().flatten().map(far_end)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use crate::noise::plan::WakeParameters;
    use crate::noise::sample::parameters;

    #[test]
    fn next_command_keeps_the_options_of_the_run() {
        let wake = WakeParameters {
            intervals_us: vec![500.0, 1_000.0],
            policy: "other".into(),
            timer: Timer::ClockNanosleep,
            cpus: vec![0, 1],
        };
        let run = Parameters { wake: Some(wake.clone()), ..parameters() };
        let words = |parameters: &Parameters, row: WakeRow| next(parameters, &[row]).unwrap().join(" ");
        let first = "noise --wake 500us,1000us --policy fifo:80 --cpus 0-1";
        assert_eq!(words(&run, row(10_000)), first);
        let wake = WakeParameters { timer: Timer::Futex, ..wake };
        let other = Parameters { wake: Some(wake), stop_above_us: Some(300.0), budget_s: Some(60.0), ..run };
        let expected = format!("{first} --timer futex --stop-above 300us --seconds 60");
        assert_eq!(words(&other, row(10_000)), expected);
        let realtime = WakeRow { policy: "fifo:80".into(), ..row(10_000) };
        assert_eq!(words(&other, realtime), "noise --cpus 1");
    }

    #[test]
    fn tail_of_latency_is_compared_where_it_is_known() {
        let known = WakeRow { late_p999_ci_us: Some(Interval::new(300.0, 500.0)), ..row(10_000) };
        let values: Vec<_> = metrics(&known).iter().map(|one| (one.figure, one.value, one.variation)).collect();
        let (others, rare) = (VariationSource::Others, VariationSource::Rare);
        assert_eq!(
            values[1..],
            [
                ("late p99", 100e3, others),
                ("late p99.9", 400e3, others),
                ("late p99.99", 800e3, rare),
                ("late, longest", 900e3, rare)
            ]
        );
        let few: Vec<&str> = metrics(&row(999)).iter().map(|one| one.figure).collect();
        assert_eq!(few, ["late p50", "late p99", "late, longest"]);
    }
}
