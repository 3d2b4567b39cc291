//! Kernel events of the gaps of a thread that only reads the clock: without and with a competitor. It also measures
//! the cost of the events, and takes about ten seconds.
//!
//!     cargo run --release -p instruments --example evidence

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use instruments::clock::Clock;
use instruments::cpus::{self, CpuSet};
use instruments::evidence::{Attribution, EntryExitOverhead, EvidenceQuality, Recorder, Source, Stretch, attribute};
use instruments::gaps;

const SLICE: Duration = Duration::from_millis(25);
const PAIRS: usize = 20;
/// Number of times that two threads yield to each other.
const TURNS: u32 = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::calibrate(Duration::from_millis(100)).clock;
    let cpu = cpus::allowed()?.last().ok_or("no CPU")?;
    cpus::pin_current_thread(cpu)?;
    for source in [Source::CpuRecord, Source::ThreadRecord, Source::Account] {
        println!("{source:?} on CPU {cpu}");
        let mut recorder = match Recorder::open_with(clock, &CpuSet::single(cpu), source) {
            Ok(recorder) => recorder,
            Err(error) => {
                println!("  not to be had: {error}");
                continue;
            }
        };
        recorder.warnings().iter().for_each(|warning| println!("  {}\n    {}", warning.message(), warning.remedy()));
        measure(clock, &mut recorder, "quiet")?;
        let done = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&done);
        let competitor = std::thread::Builder::new().name("competitor".into()).spawn(move || {
            let _ = cpus::pin_current_thread(cpu);
            let latest = Instant::now() + Duration::from_secs(5);
            while !until.load(Ordering::Relaxed) && Instant::now() < latest {}
        })?;
        let measured = measure(clock, &mut recorder, "with a competitor");
        done.store(true, Ordering::Relaxed);
        let _ = competitor.join();
        measured?;
        if source != Source::Account {
            cost_of_an_event(clock, cpu, &mut recorder)?;
        }
    }
    Ok(())
}

/// Measures two threads that yield to each other, with and without events: the difference is the cost.
fn cost_of_an_event(clock: Clock, cpu: usize, recorder: &mut Recorder) -> std::io::Result<()> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = cpus::pin_current_thread(cpu);
            while !done.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        let (mut costs, mut events) = ([Vec::new(), Vec::new()], 0);
        for _ in 0..5 {
            recorder.start()?;
            costs[0].push(yields(clock));
            events = recorder.stop()?.quality.events;
            costs[1].push(yields(clock));
        }
        done.store(true, Ordering::Relaxed);
        let [with, without] = costs.map(middle);
        let per_turn = events as f64 / f64::from(TURNS);
        println!("  a turn of two that yield: {with:.0} ns with evidence, {without:.0} ns without");
        println!("    {:.0} ns an event ({per_turn:.2} a turn)", (with - without) / per_turn);
        Ok(())
    })
}

fn yields(clock: Clock) -> f64 {
    let start = clock.stamp();
    (0..TURNS).for_each(|_| std::thread::yield_now());
    clock.to_ns(clock.stamp() - start) / f64::from(TURNS)
}

/// Returns the passes per tick of the time in which the thread ran.
fn passes_per_tick(watch: &gaps::Watch) -> f64 {
    let lost: u64 = watch.gaps.iter().map(|gap| gap.length).sum();
    watch.passes as f64 / (watch.span - lost) as f64
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures with and without events, interleaved.
fn measure(clock: Clock, recorder: &mut Recorder, scenario: &str) -> std::io::Result<()> {
    let mut ratios = Vec::new();
    let mut overhead = EntryExitOverhead::default();
    let mut all = Attribution::default();
    let mut quality: Option<EvidenceQuality> = None;
    for _ in 0..PAIRS {
        recorder.start()?;
        let watch = gaps::watch(clock, SLICE);
        let timeline = recorder.stop()?;
        let plain = gaps::watch(clock, SLICE);
        ratios.push(passes_per_tick(&watch) / passes_per_tick(&plain));
        let stretch = Stretch::of_watch(&timeline, &watch);
        overhead.learn(&stretch);
        all.absorb(&attribute(&stretch, &overhead));
        match &mut quality {
            Some(quality) => quality.absorb(&timeline.quality),
            None => quality = Some(timeline.quality),
        }
    }
    let effect = (middle(ratios) - 1.0) * 100.0;
    println!("  {scenario}: {} gaps, {:.3} ms", all.gaps(), clock.to_ns(all.total()) / 1e6);
    println!("    passes in the same time with evidence: {effect:+.3} % (median of {PAIRS} pairs)");
    print_causes(clock, &all);
    print_quality(&quality.expect("at least one slice"));
    Ok(())
}

fn print_causes(clock: Clock, all: &Attribution) {
    let explained = all.explained_share().unwrap_or(1.0) * 100.0;
    println!("    explained {explained:.3} %, recall {:?} {:?}", all.recall.share(), all.recall);
    for cause in all.causes().iter().take(12) {
        let share = cause.ticks as f64 / all.total() as f64 * 100.0;
        let ms = clock.to_ns(cause.ticks) / 1e6;
        println!(
            "    {share:8.3} % {ms:9.3} ms {:6} x {:?} {:?} {:?}",
            cause.count,
            cause.cause.kind,
            cause.cause.name.as_deref().unwrap_or(""),
            cause.cause.pid
        );
    }
}

fn print_quality(quality: &EvidenceQuality) {
    let account = &quality.account;
    println!(
        "    {} events, {} lost, {:.0} ns blind; clock residual {:.2} ns, uncertainty {:.2} ns; recorder {:.2} ms",
        quality.events,
        quality.lost_events,
        quality.blind_ns,
        quality.clock_residual_ns,
        quality.clock_uncertainty_ns,
        quality.recorder_ns / 1e6
    );
    println!("    {} ns of wall time in no account, {account:?}", account.missing_ns().unwrap_or(0));
}
