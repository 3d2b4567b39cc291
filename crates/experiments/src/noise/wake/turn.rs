//! One turn of one thread: pieces of sleep, between which the kernel's record is read.

use super::account::Account;
use super::plan::WakePlan;
use super::sleeper::{Limit, Piece, Sleeper};
use crate::noise::recording::following;
use crate::noise::timer::Alarm;
use harness::{EvidenceChoice, Interruption};
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::cpus::schedule::{Schedule, reschedule_current_thread};
use instruments::evidence::{EvidenceQuality, Recorder, Source, Timeline};
use instruments::team::StartGate;
use instruments::warning::Warning;
use record::distinct;
use rustix::thread::set_name;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// What every turn needs.
pub struct TurnSetup<'a> {
    pub clock: Clock,
    /// When the run began, in ticks.
    pub origin: u64,
    pub plan: &'a WakePlan,
    pub interruption: &'a Interruption,
}

/// A thread that sleeps at one interval, and what is known of it after some turns.
pub struct Thread {
    /// Where it is pinned; `None` where the kernel places it.
    pub cpu: Option<usize>,
    pub interval: Duration,
    /// By the CPU that it woke on.
    pub accounts: BTreeMap<usize, Account>,
    pub span: u64,
    pub skipped: u64,
    pub source: Source,
    pub ledger: Option<EvidenceQuality>,
    pub warnings: Vec<Warning>,
    pub is_stopped: bool,
}

/// The recorder has room for this much, and a debug build has time for no more.
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

    /// A turn, on the thread that calls.
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

    /// Adds a piece, which has been read, and the kernel's record of it.
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

/// Sleeps at the rank that was asked for, and not a moment longer: a real-time thread that reads the kernel's record
/// would keep its CPU from all others.
fn ranked<T>(plan: &WakePlan, interval: Duration, sleep: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    reschedule_current_thread(plan.schedule(interval))?;
    let slept = sleep();
    reschedule_current_thread(Schedule::Fair { nice: plan.nice, slice: None })?;
    slept
}
