//! The values as a file of OpenMetrics, replaced atomically after each interval.
//!
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>: a name ends in its unit, a counter's sample in `_total`,
//! and the file in `# EOF`.

use crate::load::record::IntervalRow;
use harness::output::OutputFile;
use instruments::warning::{LeftOut, Warning};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The file, and its write errors.
pub struct MetricsFile {
    path: PathBuf,
    file: OutputFile,
    counted: BTreeMap<usize, Counted>,
    last_s: f64,
    failures: u64,
    reason: String,
}

/// The sums of a CPU, in seconds.
#[derive(Clone, Copy, Default)]
struct Counted {
    wall_s: f64,
    load_s: f64,
    spinner_s: f64,
    ground_s: f64,
    proc_stat_s: f64,
}

impl MetricsFile {
    /// Checks that the file can be replaced.
    ///
    /// # Errors
    /// It is a directory or a device, or its directory is not writable.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OutputFile::replaceable(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            counted: BTreeMap::new(),
            last_s: 0.0,
            failures: 0,
            reason: String::new(),
        })
    }

    /// Replaces the file.
    ///
    /// When that fails the old one stays, and the next interval tries again.
    pub fn interval(&mut self, rows: &[IntervalRow]) {
        let Some(time_s) = rows.first().map(|row| row.time_s) else { return };
        let length_s = time_s - self.last_s;
        self.last_s = time_s;
        for row in rows {
            let counted = self.counted.entry(row.cpu).or_default();
            counted.wall_s += length_s;
            counted.load_s += length_s * row.shares.load_share;
            counted.spinner_s += length_s * row.shares.cputime_share;
            counted.ground_s += length_s * row.shares.grind_share;
            counted.proc_stat_s += length_s * row.shares.proc_stat_share.unwrap_or(0.0);
        }
        let text = exposition(rows, &self.counted);
        if let Err(error) = self.file.replace(text.as_bytes()) {
            self.failures += 1;
            self.reason = error.to_string();
        }
    }

    /// Returns the warning about failed writes.
    pub fn warning(self) -> Option<Warning> {
        (self.failures > 0).then(|| {
            Warning::from(LeftOut {
                what: format!("--metrics {}, for {} intervals,", self.path.display(), self.failures),
                reason: format!("the file could not be replaced: {}", self.reason),
            })
        })
    }
}

/// Writes one family of metrics with a sample for each CPU.
fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: impl Iterator<Item = (usize, Option<f64>)>) {
    let unit = name.rsplit('_').next().unwrap_or_default();
    let _ = writeln!(text, "# TYPE {name} {kind}\n# UNIT {name} {unit}\n# HELP {name} {help}");
    let suffix = if kind == "counter" { "_total" } else { "" };
    for (cpu, value) in samples {
        if let Some(value) = value {
            let _ = writeln!(text, "{name}{suffix}{{cpu=\"{cpu}\"}} {value}");
        }
    }
}

fn exposition(rows: &[IntervalRow], counted: &BTreeMap<usize, Counted>) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, figure: fn(&IntervalRow) -> Option<f64>| {
        family(&mut text, name, "gauge", help, rows.iter().map(|row| (row.cpu, figure(row))));
    };
    gauge("contend_load_ratio", "Share of the last interval that the idle-priority spinner did not get.", |row| {
        Some(row.shares.load_share)
    });
    gauge(
        "contend_lost_inside_ratio",
        "Share of the last interval that interrupts and the hypervisor took from the spinner.",
        |row| Some(row.shares.lost_inside_share),
    );
    gauge("contend_proc_stat_load_ratio", "Load of the last interval according to /proc/stat.", |row| {
        row.shares.proc_stat_share
    });
    gauge(
        "contend_task_load_ratio",
        "Share of the last interval used by all other tasks, from the kernel's exact accounting.",
        |row| row.shares.exec_share,
    );
    gauge("contend_speed_ratio", "Speed of the CPU relative to its speed during calibration.", |row| {
        row.shares.speed_share
    });
    let mut counter = |name: &str, help: &str, figure: fn(&Counted) -> f64| {
        family(&mut text, name, "counter", help, counted.iter().map(|(&cpu, sums)| (cpu, Some(figure(sums)))));
    };
    counter("contend_measured_seconds", "Measured time.", |sums| sums.wall_s);
    counter("contend_load_seconds", "Time that the spinner did not get.", |sums| sums.load_s);
    counter("contend_soaked_seconds", "CPU time that the spinner got.", |sums| sums.spinner_s);
    counter("contend_ground_seconds", "CPU time that the spinner could use.", |sums| sums.ground_s);
    counter("contend_proc_stat_load_seconds", "Busy time according to /proc/stat.", |sums| sums.proc_stat_s);
    text + "# EOF\n"
}
