//! The values of each CPU and interval, compared with known ones.

use super::{SHARES, first_cpu, number, rows};
use crate::burst::{Alignment, Pattern, Tick};
use crate::command::{contend, record};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn every_interval_and_cpu_has_a_row_and_every_cpu_a_total() {
    let record = record(&["load", "--seconds", "1", "--interval", "250ms"]);
    let cpus = record["parameters"]["cpus"].as_array().unwrap().len();
    let intervals = rows(&record, "interval");
    // A slow machine may need more than a quarter of a second for one.
    assert!(intervals.len().is_multiple_of(cpus) && (1..=5).contains(&(intervals.len() / cpus)), "{intervals:?}");
    assert_eq!(rows(&record, "total").len(), cpus);
    for row in intervals.iter().chain(&rows(&record, "total")) {
        SHARES.iter().for_each(|share| assert!(number(row, share).is_finite(), "{share} in {row}"));
        assert!((number(row, "load_share") + number(row, "cputime_share") - 1.0).abs() < 1e-9, "{row}");
        let lost = number(row, "cputime_share") - number(row, "grind_share");
        assert!((number(row, "lost_inside_share") - lost).abs() < 1e-9, "{row}");
        assert!(number(row, "time_s") > 0.0);
    }
    let times: Vec<f64> = intervals.iter().step_by(cpus).map(|row| number(row, "time_s")).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

/// Bursts use three quarters of a CPU, and an idle-priority spinner leaves them nearly all of it.
///
/// Whether a tick falls into them or not, much of the CPU is load, and where the kernel keeps an exact account, both
/// agree in one of four tries: the time that a hypervisor takes is load, and in no account of the kernel's. (The example
/// `bursts` shows how closely, and the value of `/proc/stat`; a busy machine would disturb that here.)
#[test]
fn bursts_are_measured_at_any_phase_of_the_tick() {
    for alignment in [Alignment::Avoids, Alignment::Hits, Alignment::Unaligned] {
        let pattern = Pattern { burst_ns: 3_000_000, period_ns: 4_000_000, alignment };
        let agrees = || {
            let record = record_with_bursts(&pattern, &["load", "--cpus", &first_cpu(), "--seconds", "1"]);
            let total = rows(&record, "total")[0];
            let load = number(total, "load_share");
            assert!(load > 0.3, "{total}");
            let Some(exec) = total["exec_share"].as_f64() else {
                println!("skipped: needs cpuacct.usage_percpu or /proc/schedstat");
                return true;
            };
            assert!(exec < load + 0.1, "others ran while the spinner did: {total}");
            load < exec + 0.1
        };
        assert!((0..4).any(|_| agrees()), "{alignment:?}: more load than anything executed, four times");
    }
}

/// Returns the record of a command during which bursts ran on the first CPU.
fn record_with_bursts(pattern: &Pattern, arguments: &[&str]) -> Value {
    /// Ends the bursts also when the command fails.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (stop, used_ns) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            instruments::cpus::pin_current_thread(first_cpu().parse().unwrap()).unwrap();
            pattern.run(Tick::find(), &stop, &used_ns);
        });
        let _stop = Stop(&stop);
        std::thread::sleep(Duration::from_millis(300));
        record(arguments)
    })
}

#[test]
fn several_spinners_are_compared_with_one() {
    // If other programs want the CPU, a short run may not get enough of it to be compared.
    let cpu = first_cpu();
    let is_compared = |seconds: &&str| {
        let call = ["load", "--grinders", "2", "--cpus", &cpu, "--seconds", seconds];
        let record = record(&call);
        let efficiency = rows(&record, "total")[0]["efficiency_share"].as_f64();
        let text = String::from_utf8(contend(&[&call[..], &["--quiet"]].concat()).stdout).unwrap();
        assert!(efficiency.is_none_or(|efficiency| efficiency > 0.0), "{efficiency:?}");
        efficiency.is_some_and(|efficiency| (0.5..2.0).contains(&efficiency)) && text.contains("1998: 99.92 %")
    };
    assert!(["1", "1", "4", "16"].iter().any(is_compared), "two busy loops were never compared with one");
}
