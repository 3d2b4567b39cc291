//! The sums of the deltas of a run, CPU by CPU: for the current interval and for the run.

use super::accounts::Delta;
use crate::load::flags::Priority;
use crate::load::plan::Plan;
use crate::load::record::{AllCpusRow, IntervalRow, Shares, TotalRow};
use instruments::digits::percent;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::warning::{FewSamples, Severity, Warning, WarningKind};
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;

/// The minimum number of busy loops for shares of a per cent or two.
const FEW_GRINDS: u64 = 100;
/// The number of the last intervals that are compared, about an hour of seconds: an endless run must not fill the
/// memory.
const COMPARED: usize = 4_096;
/// The difference from the measured load above which `/proc/stat` is wrong, apart from its resolution.
const LIE_SHARE: f64 = 0.02;
/// The share above which the load of the meter itself is reported.
const TAKEN_SHARE: f64 = 0.02;
/// The minimum length of a run for a warning about `/proc/stat`.
const LIE_NEEDS_S: f64 = 2.0;

/// The sums of a run.
pub struct Totals {
    grinders: usize,
    priority: Priority,
    /// The length of a busy loop in the calibration, in nanoseconds.
    calibrated_ns: f64,
    cpus: Vec<OfCpu>,
    /// The share that the spinners of all CPUs took in each interval.
    taken: VecDeque<f64>,
    elapsed: Duration,
    ended: Duration,
}

struct OfCpu {
    cpu: usize,
    now: Parts,
    /// The sum of all deltas with active spinners.
    spinner_delta: Delta,
    /// The load by the tick, as time.
    tick_s: Option<f64>,
    intervals: u64,
    got_most: f64,
    got_least: f64,
    taken: VecDeque<f64>,
    efficiency: VecDeque<f64>,
}

/// The deltas of the current interval.
#[derive(Clone, Copy, Default)]
struct Parts {
    resting: Option<Delta>,
    alone: Option<Delta>,
    together: Option<Delta>,
}

impl Parts {
    /// Returns the sum of the deltas in which spinners were active.
    fn spinner_delta(&self) -> Option<Delta> {
        match (self.alone, self.together) {
            (Some(alone), Some(together)) => Some(alone.and(together)),
            (alone, together) => alone.or(together),
        }
    }

    fn others_share(delta: Option<Delta>) -> Option<f64> {
        delta.and_then(|delta| Some(delta.others_ns? / delta.wall_ns)).filter(|share| share.is_finite())
    }

    /// Returns how much more the other tasks ran while the spinner rested.
    fn taken(&self) -> Option<f64> {
        Some(Self::others_share(self.resting)? - Self::others_share(self.spinner_delta())?)
    }

    /// Returns the busy loops per nanosecond of CPU time, of all spinners together relative to one alone.
    fn efficiency(&self) -> Option<f64> {
        let rate = |delta: Delta| (delta.got_ns > 0.0).then(|| delta.grinds as f64 / delta.got_ns);
        Some(rate(self.together?)? / rate(self.alone?)?).filter(|ratio| ratio.is_finite())
    }
}

impl Totals {
    pub fn new(plan: &Plan, priority: Priority, calibrated_ns: f64) -> Self {
        let of_cpu = |&cpu: &usize| OfCpu {
            cpu,
            now: Parts::default(),
            spinner_delta: Delta { others_ns: Some(0.0), ..Delta::default() },
            tick_s: Some(0.0),
            intervals: 0,
            got_most: 0.0,
            got_least: 1.0,
            taken: VecDeque::new(),
            efficiency: VecDeque::new(),
        };
        let cpus = plan.cpus.iter().map(of_cpu).collect();
        let grinders = plan.grinders;
        Self {
            grinders,
            priority,
            calibrated_ns,
            cpus,
            taken: VecDeque::new(),
            elapsed: Duration::ZERO,
            ended: Duration::ZERO,
        }
    }

    /// Adds a delta of each CPU, in which this number of spinners computed.
    pub fn add(&mut self, active: usize, deltas: &[Delta]) {
        for (of_cpu, &delta) in self.cpus.iter_mut().zip(deltas) {
            let part = match active {
                0 => &mut of_cpu.now.resting,
                1 => &mut of_cpu.now.alone,
                _ => &mut of_cpu.now.together,
            };
            *part = Some(part.map_or(delta, |sum| sum.and(delta)));
        }
    }

    /// Ends the current interval: returns a row for each CPU that was measured in it.
    ///
    /// An interval that was cut short is not compared with others.
    pub fn end_interval(&mut self, at: Duration, tick_shares: &[Option<f64>], is_complete: bool) -> Vec<IntervalRow> {
        let length_s = (at - self.ended).as_secs_f64();
        self.ended = at;
        let (time_s, calibrated_ns) = (at.as_secs_f64(), self.calibrated_ns);
        let taken: Option<Vec<f64>> = self.cpus.iter().map(|of_cpu| of_cpu.now.taken()).collect();
        let taken = taken.filter(|_| is_complete).map(|taken| taken.iter().sum::<f64>() / taken.len() as f64);
        keep(&mut self.taken, taken);
        let pairs = self.cpus.iter_mut().zip(tick_shares);
        let rows: Vec<IntervalRow> = pairs
            .filter_map(|(of_cpu, &tick)| of_cpu.end(time_s, length_s, tick, is_complete, calibrated_ns))
            .collect();
        if !rows.is_empty() {
            self.elapsed = at;
        }
        rows
    }

    /// Returns a row for each CPU that was measured.
    pub fn rows(&self) -> Vec<TotalRow> {
        self.cpus.iter().filter_map(|of_cpu| self.total(of_cpu)).collect()
    }

    /// Returns the share that the spinners took of all CPUs, where there are several.
    pub fn all_cpus(&self) -> Option<AllCpusRow> {
        let (taken_share, taken_ci) = compared(&self.taken);
        let measured = self.cpus.len() > 1 && !self.elapsed.is_zero();
        measured.then_some(AllCpusRow { time_s: self.elapsed.as_secs_f64(), taken_share, taken_ci })
    }

    fn total(&self, of_cpu: &OfCpu) -> Option<TotalRow> {
        let time_s = self.elapsed.as_secs_f64();
        let tick = of_cpu.tick_s.map(|tick_s| tick_s / time_s);
        let (taken, taken_ci) = compared(&of_cpu.taken);
        let (efficiency, efficiency_ci) = compared(&of_cpu.efficiency);
        Some(TotalRow {
            time_s,
            cpu: of_cpu.cpu,
            intervals: of_cpu.intervals,
            priority: self.priority.to_string(),
            shares: shares(of_cpu.spinner_delta, tick, self.calibrated_ns)?,
            cputime_most_share: of_cpu.got_most,
            cputime_least_share: of_cpu.got_least,
            taken_share: taken,
            taken_ci,
            efficiency_share: efficiency.filter(|_| self.grinders > 1),
            efficiency_ci,
            core_shared_share: None,
            core_shared_share_ci: None,
            width_lost_share: None,
            proc_stat_resolution_share: 1.0 / rustix::param::clock_ticks_per_second() as f64 / time_s,
        })
    }

    /// Returns warnings about the CPUs for which the tick is wrong, and about the load of the meter itself.
    pub fn warnings(&self) -> Vec<Warning> {
        let (share, interval) = compared(&self.taken);
        // Another priority than idle takes CPU time from others by request.
        let surely = self.priority == Priority::IDLE && interval.is_some_and(|interval| interval.low > TAKEN_SHARE);
        let disturbs = share.filter(|_| surely).map(|share| Warning::from(MeterDisturbs { share }));
        let lie = |total: TotalRow| {
            let proc_stat_share = total.shares.proc_stat_share?;
            let load_share =
                total.shares.exec_share.filter(|_| self.priority.is_realtime()).unwrap_or(total.shares.load_share);
            let allowed = LIE_SHARE + 2.0 * total.proc_stat_resolution_share;
            let lies = total.time_s >= LIE_NEEDS_S && (proc_stat_share - load_share).abs() > allowed;
            lies.then_some(Warning::from(TickAccountingLies { cpu: total.cpu, proc_stat_share, load_share }))
        };
        self.rows().into_iter().filter_map(lie).chain(disturbs).chain(self.too_short()).collect()
    }

    /// Returns a warning if the run was too short: the share by work is uncertain by one busy loop at either end.
    fn too_short(&self) -> Option<Warning> {
        let measured = self.cpus.iter().filter(|of_cpu| of_cpu.spinner_delta.wanted_ns > 0.0);
        let fewest = measured.map(|of_cpu| of_cpu.spinner_delta.grinds).min()?;
        let what = "the work done, where one unit more or less moves both usable and lost".into();
        (fewest < FEW_GRINDS).then(|| FewSamples { what, count: fewest }.into())
    }
}

impl OfCpu {
    fn end(
        &mut self,
        time_s: f64,
        length_s: f64,
        tick: Option<f64>,
        is_complete: bool,
        calibrated_ns: f64,
    ) -> Option<IntervalRow> {
        let parts = std::mem::take(&mut self.now);
        let spinner_delta = parts.spinner_delta()?;
        let shares = shares(spinner_delta, tick, calibrated_ns)?;
        let (taken, efficiency) = if is_complete { (parts.taken(), parts.efficiency()) } else { (None, None) };
        keep(&mut self.taken, taken);
        keep(&mut self.efficiency, efficiency);
        self.spinner_delta = self.spinner_delta.and(spinner_delta);
        self.tick_s = self.tick_s.zip(tick).map(|(sum, share)| sum + share * length_s);
        self.intervals += 1;
        self.got_most = self.got_most.max(shares.cputime_share);
        self.got_least = self.got_least.min(shares.cputime_share);
        Some(IntervalRow {
            time_s,
            cpu: self.cpu,
            shares,
            resting_exec_share: Parts::others_share(parts.resting),
            efficiency_share: efficiency,
        })
    }
}

/// Returns the shares of a delta; `None` if the spinner never wanted the CPU in it.
fn shares(spinner_delta: Delta, proc_stat_share: Option<f64>, calibrated_ns: f64) -> Option<Shares> {
    if spinner_delta.wanted_ns <= 0.0 {
        return None;
    }
    let cputime_share = (spinner_delta.got_ns / spinner_delta.wanted_ns).clamp(0.0, 1.0);
    let grind_share = spinner_delta.ground_ns / spinner_delta.wanted_ns;
    Some(Shares {
        load_share: 1.0 - cputime_share,
        cputime_share,
        grind_share,
        lost_inside_share: cputime_share - grind_share,
        proc_stat_share,
        exec_share: Parts::others_share(Some(spinner_delta)),
        speed_share: (spinner_delta.grinds > 0)
            .then(|| calibrated_ns * spinner_delta.grinds as f64 / spinner_delta.ground_ns),
    })
}

fn keep(compared: &mut VecDeque<f64>, value: Option<f64>) {
    if let Some(value) = value {
        if compared.len() == COMPARED {
            compared.pop_front();
        }
        compared.push_back(value);
    }
}

/// Returns the median and its interval.
fn compared(values: &VecDeque<f64>) -> (Option<f64>, Option<instruments::statistics::Interval>) {
    let values: Vec<f64> = values.iter().copied().collect();
    (median(&values), sample_quantile_interval(&values, 0.5, CONFIDENCE))
}

/// The warning that `/proc/stat`, which samples the running task at every tick, is far from the actual load of the CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct TickAccountingLies {
    /// The CPU.
    cpu: usize,
    /// Its load by `/proc/stat`.
    proc_stat_share: f64,
    /// Its load as measured.
    load_share: f64,
}

impl WarningKind for TickAccountingLies {
    const CODE: &'static str = "tick_accounting_lies";

    fn message(&self) -> String {
        let (reported, measured) = (percent(self.proc_stat_share), percent(self.load_share));
        format!("/proc/stat reports a load of {reported} on CPU {}; the measured load is {measured}", self.cpu)
    }

    fn remedy(&self) -> &'static str {
        "use the measured value: the load is synchronised with the timer tick, at which /proc/stat samples. \
         Elsewhere, use cgroup or per-task CPU times, which are exact, or a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN, which does not sample at ticks"
    }
}

/// The warning that the meter takes a considerable part of the measured CPU time.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct MeterDisturbs {
    /// The time that it takes, as a share of the CPUs' time.
    share: f64,
}

impl WarningKind for MeterDisturbs {
    const CODE: &'static str = "meter_disturbs";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the meter takes {} of the CPUs' time from the load that it measures", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "run it in a cgroup of idle weight: `systemd-run --scope -p CPUWeight=idle contend load`"
    }
}
