//! What the kernel knows of the gaps of a thread that only reads the clock: alone, and beside a competitor. And what the
//! evidence costs. Takes about ten seconds.
//!
//!     cargo run --release -p instruments --example evidence

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use instruments::clock::Clock;
use instruments::cpus::{self, CpuSet};
use instruments::evidence::{Attribution, Ledger, Recorder, Source, Stretch, Surroundings, attribute};
use instruments::gaps;

const SLICE: Duration = Duration::from_millis(250);
const PAIRS: usize = 6;

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
    }
    Ok(())
}

/// Slices with and without evidence take turns.
fn measure(clock: Clock, recorder: &mut Recorder, scenario: &str) -> std::io::Result<()> {
    let mut passes = [Vec::new(), Vec::new()];
    let mut surroundings = Surroundings::default();
    let mut all = Attribution::default();
    let mut ledger: Option<Ledger> = None;
    for _ in 0..PAIRS {
        recorder.start()?;
        let watch = gaps::watch(clock, SLICE);
        let timeline = recorder.stop()?;
        let plain = gaps::watch(clock, SLICE);
        for (passes, watch) in passes.iter_mut().zip([&watch, &plain]) {
            let running = watch.span - watch.gaps.iter().map(|gap| gap.length).sum::<u64>();
            passes.push(watch.passes as f64 / clock.to_ns(running) * 1e3);
        }
        let stretch = Stretch::of_watch(&timeline, &watch);
        surroundings.learn(&stretch);
        all.absorb(&attribute(&stretch, &surroundings));
        match &mut ledger {
            Some(ledger) => ledger.absorb(&timeline.ledger),
            None => ledger = Some(timeline.ledger),
        }
    }
    let [with, without] = passes.map(|mut passes| {
        passes.sort_by(f64::total_cmp);
        passes[passes.len() / 2]
    });
    println!("  {scenario}: {} gaps, {:.3} ms", all.gaps(), clock.to_ns(all.total()) / 1e6);
    println!(
        "    explained {:.3} %, recall {:?} {:?}",
        all.explained_share().unwrap_or(1.0) * 100.0,
        all.recall.share(),
        all.recall
    );
    println!(
        "    passes per µs of running: {with:.3} with evidence, {without:.3} without ({:+.3} %)",
        (with / without - 1.0) * 100.0
    );
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
    if std::env::var_os("DEBUG_HIST").is_some() {
        let mut h = std::collections::BTreeMap::new();
        for g in 0..all.gaps() {
            let u = all.unexplained(g);
            let parts = all.of_gap(g).len();
            if u > 0 {
                let e = h.entry(((clock.to_ns(u)).log2() as i32, parts > 1)).or_insert((0, 0.0));
                e.0 += 1;
                e.1 += clock.to_ns(u) / 1e3;
            }
        }
        for (k, v) in h {
            println!("      2^{} ns mixed {}: {} {:.0} us", k.0, k.1, v.0, v.1);
        }
        for cause in all.causes() {
            println!("    {:?}", cause);
        }
    }
    let ledger = ledger.expect("at least one slice");
    println!("    missing {:?} ns {ledger:?}", ledger.account.missing_ns());
    Ok(())
}
