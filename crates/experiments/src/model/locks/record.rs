//! The results: a row for each configuration.

use super::agreement::{Comparison, Measured};
use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type LocksRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A lock on a modelled machine. The fields that begin with `modelled` are computed, never measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub lock: String,
    pub threads: usize,
    pub cores: usize,
    /// NUMA nodes, among which the cores are divided.
    pub nodes: usize,
    pub nonhold_us: f64,
    pub hold_us: f64,
    /// Cache lines of shared data that each critical section writes.
    pub touched_lines: usize,
    /// The modelled time of a run, of which the first tenth does not count.
    pub run_s: f64,
    /// Iterations of all threads: the middle one of the runs.
    pub modelled_per_s: f64,
    /// The least and the most of the runs, which differ by their seeds: not an error of the model.
    pub modelled_range_per_s: Interval,
    /// Coefficient of variation of the threads' iterations; 0 is fair.
    pub modelled_cov: f64,
    /// The median wait; `null` if no wait ended.
    pub modelled_wait_p50_ns: Option<f64>,
    pub modelled_wait_p99_ns: Option<f64>,
    /// The longest wait of all runs, also of threads that still waited at their end.
    pub modelled_wait_max_ns: f64,
    /// Switches between threads for each iteration.
    pub modelled_switches_per_op: f64,
    /// The measured values of the same configuration, from a record of `contend throughput`.
    pub measured: Option<Measured>,
}

/// Returns the rows of each curve by cores or threads, in the order of the first row of each.
pub fn curves(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut curves: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match curves.iter_mut().find(|curve| row.is_of_curve(curve[0])) {
            Some(curve) => curve.push(row),
            None => curves.push(vec![row]),
        }
    }
    curves
}

impl Row {
    /// Returns the mix of work, and the NUMA nodes if there are several.
    pub fn work(&self) -> String {
        let lines = match self.touched_lines {
            0 => String::new(),
            lines => format!(", {} touched", terminal::counted(lines, "line")),
        };
        let nodes = if self.nodes > 1 { format!(", {} NUMA nodes", self.nodes) } else { String::new() };
        format!("{}+{} µs{lines}{nodes}", self.nonhold_us, self.hold_us)
    }

    /// Returns the number of threads and cores.
    pub fn machine(&self) -> String {
        format!("{}, {}", terminal::counted(self.threads, "thread"), terminal::counted(self.cores, "core"))
    }

    /// Returns the modelled and the measured value, if there is a measurement.
    pub fn comparison(&self) -> Option<Comparison> {
        let measured = self.measured.as_ref()?;
        Some(Comparison {
            conditions: format!("{}, {}", self.machine(), self.work()),
            modelled_per_s: self.modelled_per_s,
            measured_per_s: measured.throughput_per_s,
            interval: measured.throughput_ci,
        })
    }

    /// Returns whether only the locks differ.
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.machine() == other.machine() && self.work() == other.work()
    }

    /// Returns whether the rows belong to one curve by cores or threads.
    fn is_of_curve(&self, other: &Self) -> bool {
        let per_core = |row: &Self| row.threads / row.cores.max(1);
        let is_measured = |row: &Self| row.measured.is_some();
        (self.nonhold_us, self.hold_us, self.touched_lines) == (other.nonhold_us, other.hold_us, other.touched_lines)
            && is_measured(self) == is_measured(other)
            && (is_measured(self) || per_core(self) == per_core(other))
    }
}
