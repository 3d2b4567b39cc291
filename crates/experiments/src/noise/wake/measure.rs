//! The measurement: repetitions of all intervals, in random order; in a repetition every CPU has a thread, all from one
//! instant. A thread's repetition is in pieces, between which the kernel trace is read; each CPU that it woke on has a
//! row.

use super::account::Account;
use super::plan::WakePlan;
use super::record::{WakeRow, WakeSpike};
use super::sleeper::{Alarm, Limit, Piece, Sleeper};
use crate::noise::by_us;
use crate::noise::cause_sums::Part;
use crate::noise::every_cpu::{irqs_of, role};
use crate::noise::measure::{LONGEST_REALTIME, following};
use crate::noise::record::CauseRow;
use anyhow::Context;
use harness::turns::{self, Rules, take_turns};
use harness::{EvidenceChoice, Interruption, Progress, Session, Shown};
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::cpus::schedule::{Schedule, bound_realtime, reschedule_current_thread};
use instruments::evidence::{Cause, EvidenceQuality, Kind, Recorder, Source, Timeline};
use instruments::spikes;
use instruments::tally::Tally;
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::Warning;
use record::{Bin, Unit, distinct};
use rustix::thread::set_name;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The results of the measurement.
pub struct WakeMeasured {
    pub rows: Vec<WakeRow>,
    /// The order of the repetitions of the intervals, by number.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
}

/// An interval, and its threads.
struct Cell {
    interval: Duration,
    threads: Vec<Thread>,
    turns: u64,
}

/// Measures every interval of the plan.
pub fn run_plan(plan: &WakePlan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<WakeMeasured> {
    bound_realtime(LONGEST_REALTIME)?;
    let setup = TurnSetup { clock, origin: clock.now(), plan, interruption: &session.interruption };
    let mut records: BTreeMap<Option<usize>, Option<Recorder>> = BTreeMap::new();
    let mut cells: Vec<Cell> = plan.intervals.iter().map(|&interval| Cell::new(plan, interval)).collect();
    let rules =
        Rules { began: Instant::now(), budget: Some(plan.budget), precision: None, at_least: 0, at_most: plan.turns };
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| cell.run(&setup, &mut records))?;
    let seen = cells.iter().flat_map(|cell| &cell.threads).flat_map(Thread::warnings);
    let warnings: Vec<Warning> = plan.warnings.iter().cloned().chain(turns.left_out()).chain(seen).collect();
    let rows = cells.iter().flat_map(|cell| &cell.threads).flat_map(|thread| rows(thread, &setup, session));
    Ok(WakeMeasured { rows: rows.collect(), order: turns.order, warnings: distinct(&warnings, Warning::clone) })
}

impl Cell {
    fn new(plan: &WakePlan, interval: Duration) -> Self {
        let threads = match plan.is_pinned {
            true => plan.cpus.iter().map(|cpu| Thread::new(Some(cpu), interval)).collect(),
            false => vec![Thread::new(None, interval)],
        };
        Self { interval, threads, turns: 0 }
    }

    fn run(
        &mut self,
        setup: &TurnSetup<'_>,
        records: &mut BTreeMap<Option<usize>, Option<Recorder>>,
    ) -> anyhow::Result<ControlFlow<()>> {
        self.turns += 1;
        self.threads.iter().for_each(|thread| _ = records.entry(thread.cpu).or_default());
        let mut results: Vec<io::Result<()>> = self.threads.iter().map(|_| Ok(())).collect();
        let mut members = Vec::with_capacity(self.threads.len());
        // Both are in the order of the CPUs.
        for ((thread, record), result) in self.threads.iter_mut().zip(records.values_mut()).zip(&mut results) {
            let cpu = thread.cpu;
            let job = move |gate: &StartGate| *result = thread.turn(setup, record, gate);
            members.push(Member { cpu, job: Box::new(job) });
        }
        work_together(setup.clock, setup.plan.turn, members)?;
        for (thread, result) in self.threads.iter().zip(results) {
            let thread_words =
                || thread.cpu.map_or_else(|| "the thread".to_owned(), |cpu| format!("the thread of CPU {cpu}"));
            result.with_context(thread_words)?;
        }
        let is_stopped = self.threads.iter().any(|thread| thread.is_stopped);
        Ok(if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        format!("wake-ups every {}", terminal::nanoseconds(self.interval.as_nanos() as f64))
    }

    /// Returns the maximum latency.
    fn shown(&self) -> Option<Shown> {
        let accounts = self.threads.iter().flat_map(|thread| thread.accounts.values());
        let latest = accounts.filter_map(|account| Some(account.latest.first()?.late_us)).max_by(f64::total_cmp)?;
        Some(Shown::Figure { value: latest * 1e3, unit: Unit::Ns, more_is_better: false })
    }

    fn so_far(&self) -> String {
        let latest = self.threads.iter().flat_map(|thread| thread.accounts.values()).filter_map(|account| {
            let first = account.latest.first()?;
            Some((first.late_us, account, first))
        });
        let Some((_, account, late)) = latest.max_by(|a, b| a.0.total_cmp(&b.0)) else { return "nothing yet".into() };
        format!(
            "{} wake-ups on CPU {}, latest {} ({})",
            terminal::count(account.late().count()),
            account.cpu,
            terminal::nanoseconds(late.late_us * 1e3),
            harness::label(&late.cause)
        )
    }

    fn turns(&self) -> u64 {
        self.turns
    }
}

/// The common data of every repetition.
pub struct TurnSetup<'a> {
    pub clock: Clock,
    /// The begin of the run, in ticks.
    pub origin: u64,
    pub plan: &'a WakePlan,
    pub interruption: &'a Interruption,
}

/// A thread that sleeps at one interval, and its results so far.
pub struct Thread {
    /// The CPU that it is pinned to; `None` where the kernel places it.
    pub cpu: Option<usize>,
    pub interval: Duration,
    /// The accounts by the CPU that it woke on.
    pub accounts: BTreeMap<usize, Account>,
    pub span: u64,
    pub skipped: u64,
    pub source: Source,
    pub ledger: Option<EvidenceQuality>,
    pub warnings: Vec<Warning>,
    pub is_stopped: bool,
}

/// The length of a piece, for which the recorder has room; a debug build has time for no more.
const PIECE: Duration = Duration::from_secs(1);

impl Thread {
    pub fn new(cpu: Option<usize>, interval: Duration) -> Self {
        Self {
            cpu,
            interval,
            accounts: BTreeMap::new(),
            span: 0,
            skipped: 0,
            source: Source::None,
            ledger: None,
            warnings: Vec::new(),
            is_stopped: false,
        }
    }

    /// Runs a repetition on the calling thread.
    pub fn turn(&mut self, setup: &TurnSetup<'_>, record: &mut Option<Recorder>, gate: &StartGate) -> io::Result<()> {
        let ended = self.sleep(setup, record, gate);
        // No thread waits for one that failed, or for one that has ended the measurement.
        if ended.is_err() || self.is_stopped {
            gate.stop_at(setup.clock.now());
        }
        ended
    }

    fn sleep(&mut self, setup: &TurnSetup<'_>, record: &mut Option<Recorder>, gate: &StartGate) -> io::Result<()> {
        let TurnSetup { clock, plan, interruption, .. } = *setup;
        let cpus = self.cpu.map_or_else(|| plan.cpus.clone(), CpuSet::single);
        let mut recorder = (plan.evidence == EvidenceChoice::Best).then(|| following(record, clock, &cpus));
        let piece = PIECE.max(3 * self.interval);
        let room = (piece.as_nanos() / self.interval.as_nanos()) as usize + 2;
        let alarm = Alarm::open(plan.timer);
        let begins = gate.ready().is_some();
        let mut sleeper = Sleeper::new(clock, alarm?, self.interval.as_nanos() as u64, self.cpu, room);
        set_name(c"sleeper")?;
        while begins && clock.now() < gate.stop() && !interruption.is_requested() {
            let limit = Limit {
                end: gate.stop().min(clock.now() + clock.ticks_in(piece)),
                stop_above_ns: plan.stop_above.map_or(u64::MAX, |limit| limit.as_nanos() as u64),
                interruption,
            };
            recorder.as_mut().map(|recorder| recorder.start()).transpose()?;
            let slept = ranked(plan, self.interval, || sleeper.sleep_through(&limit));
            let timeline = recorder.as_mut().map(|recorder| recorder.stop()).transpose()?;
            let piece = slept?;
            self.add(setup, &piece, timeline.as_ref());
            if piece.is_stopped || piece.wakes.is_empty() {
                break;
            }
        }
        if let Some(recorder) = recorder {
            self.source = recorder.source();
            self.warnings.extend(recorder.warnings().to_vec());
            self.warnings = distinct(&self.warnings, Warning::clone);
        }
        Ok(())
    }

    /// Adds a piece, with its kernel trace.
    pub fn add(&mut self, setup: &TurnSetup<'_>, piece: &Piece, timeline: Option<&Timeline>) {
        self.span += piece.span.1.saturating_sub(piece.span.0);
        self.skipped += piece.skipped;
        self.is_stopped |= piece.is_stopped;
        for wake in &piece.wakes {
            let new = || Account::new(wake.cpu, setup.clock, setup.origin, setup.plan.slack_ns);
            self.accounts.entry(wake.cpu).or_insert_with(new);
        }
        self.accounts.values_mut().for_each(|account| account.add(piece, timeline));
        if let Some(timeline) = timeline {
            match &mut self.ledger {
                Some(ledger) => ledger.absorb(&timeline.quality),
                none => *none = Some(timeline.quality.clone()),
            }
        }
    }
}

/// Sleeps with the requested scheduling policy, only as long as necessary: a real-time thread that reads the kernel
/// trace would keep its CPU from all others.
fn ranked<T>(plan: &WakePlan, interval: Duration, sleep: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    reschedule_current_thread(plan.schedule(interval))?;
    let slept = sleep();
    reschedule_current_thread(Schedule::Fair { nice: plan.nice, slice: None })?;
    slept
}

/// Returns a row for each CPU that the thread woke on.
pub fn rows(thread: &Thread, setup: &TurnSetup<'_>, session: &Session) -> Vec<WakeRow> {
    let mut rows: Vec<WakeRow> =
        thread.accounts.values().filter_map(|account| row(account, thread, setup, session)).collect();
    // These values are the thread's, wherever it woke.
    rows.iter_mut().skip(1).for_each(|row| (row.skipped, row.ledger) = (0, None));
    rows
}

impl Thread {
    /// Returns the warnings of the record.
    pub fn warnings(&self) -> Vec<Warning> {
        let lost = self.ledger.iter().flat_map(EvidenceQuality::warnings);
        self.warnings.iter().cloned().chain(lost).collect()
    }
}

fn row(account: &Account, thread: &Thread, setup: &TurnSetup<'_>, session: &Session) -> Option<WakeRow> {
    let (late, clock, plan) = (account.late(), setup.clock, setup.plan);
    let us = |quantile: f64| late.quantile(quantile).map(|ns| ns as f64 / 1e3);
    let span = Duration::from_nanos(clock.to_ns(thread.span) as u64);
    let tail_ci = |above: f64| account.tail_interval(1.0 - above, span).map(|ends| ends.scaled(1e-3));
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
        span_s: span.as_secs_f64(),
        late_min_us: us(0.0)?,
        late_p50_us: us(0.5)?,
        late_p50_ci_us: account.late_interval(0.5).map(|ends| ends.scaled(1e-3)),
        late_p99_us: us(0.99)?,
        late_p99_ci_us: tail_ci(1e-2),
        late_p999_us: us(1.0 - by_us::ABOVE_P999)?,
        late_p999_ci_us: tail_ci(by_us::ABOVE_P999),
        late_p9999_us: by_us::tail(late, by_us::ABOVE_P9999).map(|ns| ns as f64 / 1e3),
        late_p9999_ci_us: tail_ci(by_us::ABOVE_P9999),
        late_max_us: us(1.0)?,
        spikes: found.spikes.iter().map(|spike| of_spike(spike, account, has_evidence)).collect(),
        leftover_share: found.leftover_share,
        histogram: histogram(late),
        late_by_us: if plan.counts_by_us { by_us::counts(late, |ns| ns as f64 / 1e3) } else { Vec::new() },
        causes: if has_evidence { causes(account, clock) } else { Vec::new() },
        explained_share: has_evidence.then(|| explained(account)),
        latest: account.latest.clone(),
        stopped: account.stopped.clone(),
        evidence: thread.source,
        ledger: thread.ledger.clone(),
        role: (plan.cpus.len() > 1).then(|| role(account.cpu, &session.environment)),
        irqs: irqs_of(account.cpu),
    })
}

/// The minimum difference of two readings of the clock with nothing between them; spikes are no narrower.
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
    let row = |(cause, part): (&Cause, &Part)| {
        let share = part.ticks as f64 / total;
        CauseRow { share, ..CauseRow::of(cause, part, clock) }
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
