//! The rows of a thread.

use super::account::Account;
use super::record::{WakeRow, WakeSpike};
use super::turn::{Thread, TurnSetup};
use crate::noise::cause_row::CauseRow;
use crate::noise::every_cpu::role;
use harness::Session;
use instruments::clock::Clock;
use instruments::evidence::{EvidenceQuality, Kind, Source};
use instruments::spikes;
use instruments::tally::Tally;
use instruments::warning::Warning;
use record::Bin;
use std::collections::BTreeMap;

/// A row for each CPU that the thread woke on.
pub fn rows(thread: &Thread, setup: &TurnSetup<'_>, session: &Session) -> Vec<WakeRow> {
    let mut rows: Vec<WakeRow> =
        thread.accounts.values().filter_map(|account| row(account, thread, setup, session)).collect();
    // They are the thread's, wherever it woke.
    rows.iter_mut().skip(1).for_each(|row| (row.skipped, row.ledger) = (0, None));
    rows
}

impl Thread {
    /// What a reader of the record must know.
    pub fn warnings(&self) -> Vec<Warning> {
        let lost = self.ledger.iter().flat_map(EvidenceQuality::warnings);
        self.warnings.iter().cloned().chain(lost).collect()
    }
}

fn row(account: &Account, thread: &Thread, setup: &TurnSetup<'_>, session: &Session) -> Option<WakeRow> {
    let (late, clock, plan) = (account.late(), setup.clock, setup.plan);
    let us = |quantile: f64| late.quantile(quantile).map(|ns| ns as f64 / 1e3);
    let found = spikes::find(late, RESOLUTION_NS);
    let has_evidence = thread.source != Source::None;
    Some(WakeRow {
        scenario: "wake".into(),
        cpu: account.cpu,
        interval_us: thread.interval.as_secs_f64() * 1e6,
        policy: plan.policy.to_string(),
        timer: plan.timer,
        slack_us: plan.slack_ns as f64 / 1e3,
        count: late.count(),
        skipped: thread.skipped,
        span_s: clock.to_ns(thread.span) / 1e9,
        late_min_us: us(0.0)?,
        late_p50_us: us(0.5)?,
        late_p50_ci_us: account.late_interval(0.5).map(|ends| ends.scaled(1e-3)),
        late_p99_us: us(0.99)?,
        late_p999_us: us(0.999)?,
        late_max_us: us(1.0)?,
        spikes: found.spikes.iter().map(|spike| of_spike(spike, account, has_evidence)).collect(),
        leftover_share: found.leftover_share,
        histogram: histogram(late),
        causes: if has_evidence { causes(account, clock) } else { Vec::new() },
        explained_share: has_evidence.then(|| explained(account)),
        latest: account.latest.clone(),
        stopped: account.stopped.clone(),
        evidence: thread.source,
        ledger: thread.ledger.clone(),
        role: (plan.cpus.len() > 1).then(|| role(account.cpu, &session.environment)),
    })
}

/// What two readings of the clock differ by at least, where nothing happens between them; spikes are no narrower.
const RESOLUTION_NS: f64 = 25.0;

fn of_spike(spike: &spikes::Spike, account: &Account, has_evidence: bool) -> WakeSpike {
    let cause = account.cause_between(spike.from as u64, spike.to as u64).filter(|_| has_evidence);
    WakeSpike {
        label: spike.label.clone(),
        share: spike.share,
        count: spike.count,
        median_us: spike.median / 1e3,
        from_us: spike.from / 1e3,
        to_us: spike.to / 1e3,
        echo_of: spike.echo_of.clone(),
        delay_us: spike.delay.map(|delay| delay / 1e3),
        cause_share: cause.as_ref().map(|(_, share)| *share),
        cause: cause.map(|(cause, _)| cause),
    }
}

fn causes(account: &Account, clock: Clock) -> Vec<CauseRow> {
    let total = account.causes.ticks().max(1) as f64;
    let row = |(cause, part): (&instruments::evidence::Cause, &crate::noise::cause_sums::Part)| CauseRow {
        kind: cause.kind,
        name: cause.name.clone(),
        pid: cause.pid,
        period_us: None,
        below_us: None,
        count: part.count,
        total_us: clock.to_ns(part.ticks) / 1e3,
        longest_us: clock.to_ns(part.longest) / 1e3,
        share: part.ticks as f64 / total,
    };
    let mut rows: Vec<CauseRow> = account.causes.iter().map(row).collect();
    rows.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
    rows
}

fn explained(account: &Account) -> f64 {
    1.0 - account.causes.ticks_of(Kind::Unexplained) as f64 / account.causes.ticks().max(1) as f64
}

const BINS_AN_OCTAVE: f64 = 16.0;

fn histogram(late: &Tally) -> Vec<Bin> {
    let edge = |bin: i64| (bin as f64 / BINS_AN_OCTAVE).exp2();
    let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
    for (ns, count) in late.iter() {
        *bins.entry(((ns.max(1) as f64).log2() * BINS_AN_OCTAVE).floor() as i64).or_default() += count;
    }
    bins.into_iter().map(|(bin, count)| Bin { from_ns: edge(bin), to_ns: edge(bin + 1), count }).collect()
}
