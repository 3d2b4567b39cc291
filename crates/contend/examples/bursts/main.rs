//! The output of `contend load` for loads that a tick cannot see, next to the kernel's exact account and `/proc/stat`.
//!
//!     cargo build --release && cargo run --release --example bursts
//!
//! Each load bursts alone for two seconds, then next to the meter for eight (or as many as the first argument says).
//! The whole takes a minute and a half. Run it on a machine that does nothing else.

mod burst;

use burst::{Alignment, Pattern, Tick};
use instruments::cpus;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const US: u64 = 1_000;

const PATTERNS: [Pattern; 7] = [
    Pattern { burst_ns: 300 * US, period_ns: 1_000 * US, alignment: Alignment::Avoids },
    Pattern { burst_ns: 300 * US, period_ns: 1_000 * US, alignment: Alignment::Hits },
    Pattern { burst_ns: 1_200 * US, period_ns: 4_000 * US, alignment: Alignment::Avoids },
    Pattern { burst_ns: 1_200 * US, period_ns: 4_000 * US, alignment: Alignment::Hits },
    Pattern { burst_ns: 3_600 * US, period_ns: 4_000 * US, alignment: Alignment::Avoids },
    Pattern { burst_ns: 3_600 * US, period_ns: 4_000 * US, alignment: Alignment::Hits },
    Pattern { burst_ns: 300 * US, period_ns: 997 * US, alignment: Alignment::Unaligned },
];

const ALONE: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: u32 = std::env::args().nth(1).map_or(Ok(8), |seconds| seconds.parse())?;
    let meter = meter()?;
    let cpu = cpus::allowed()?.last().ok_or("no CPU")?;
    println!("shares of CPU {cpu} in per cent; error and taken in points");
    println!("burst, µs     tick       alone   tasks   meter   error  /proc/stat  taken (95 %)");
    for pattern in PATTERNS {
        let row = watched(&pattern, cpu, &meter, seconds)?;
        println!("{row}");
    }
    Ok(())
}

/// Returns the path of the command, which is built next to its examples.
fn meter() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let here = std::env::current_exe()?;
    let meter = here.ancestors().nth(2).map(|folder| folder.join("contend")).filter(|meter| meter.exists());
    Ok(meter.ok_or("build the command first: cargo build --release")?)
}

/// Measures one load, alone and next to the meter.
fn watched(pattern: &Pattern, cpu: usize, meter: &Path, seconds: u32) -> Result<String, Box<dyn std::error::Error>> {
    let (stop, used_ns) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if cpus::pin_current_thread(cpu).is_ok() {
                pattern.run(Tick::find(), &stop, &used_ns);
            }
        });
        std::thread::sleep(Duration::from_millis(300));
        let (began, before) = (Instant::now(), used_ns.load(Ordering::Relaxed));
        std::thread::sleep(ALONE);
        let alone = (used_ns.load(Ordering::Relaxed) - before) as f64 / began.elapsed().as_nanos() as f64;
        let arguments =
            ["load", "--cpus", &cpu.to_string(), "--seconds", &seconds.to_string(), "--format", "json", "--quiet"];
        let output = Command::new(meter).args(arguments).output();
        stop.store(true, Ordering::Relaxed);
        let record: Value = serde_json::from_slice(&output?.stdout)?;
        Ok(row(pattern, alone, &record))
    })
}

fn row(pattern: &Pattern, alone: f64, record: &Value) -> String {
    let rows = record["results"].as_array().map_or(&[][..], Vec::as_slice);
    let total = rows.iter().find(|row| row["measurement"] == "total").unwrap_or(&Value::Null);
    let share = |field: &str| total[field].as_f64().map_or(f64::NAN, |share| share * 100.0);
    let end = |end: usize| total["taken_ci"][end].as_f64().map_or(f64::NAN, |share| share * 100.0);
    let burst = format!("{} of {}", pattern.burst_ns / US, pattern.period_ns / US);
    let alignment = format!("{:?}", pattern.alignment).to_lowercase();
    format!(
        "{burst:<13} {alignment:<9} {:>6.2}  {:>6.2}  {:>6.2}  {:>+6.2}  {:>10.2}  {:+.2} ({:+.2} to {:+.2})",
        alone * 100.0,
        share("exec_share"),
        share("load_share"),
        share("load_share") - share("exec_share"),
        share("proc_stat_share"),
        share("taken_share"),
        end(0),
        end(1),
    )
}
