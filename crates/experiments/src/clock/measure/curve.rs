//! The curve: the speed of work of each length, from 10 µs to seconds, with reads of the clock before each visit.
//!
//! Probes surround the runs: often enough to detect an SMT sibling that is active for milliseconds, rarely enough to
//! cost nothing.

use crate::clock::plan::Plan;
use crate::clock::record::{Row, SliceRow};
use crate::estimates::fields;
use harness::turns::{self, Rules, take_turns};
use harness::{Calibrated, Interruption, Progress, Session, Shown, SmtMonitor};
use instruments::clock::{Clock, ordered_read_cost_ns, read_cost_ns};
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed, Reading, Split};
use instruments::statistics::Thinned;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const BEST_OF: usize = 100;
/// The minimum time for which short windows are run at a visit.
const VISIT_NS: f64 = 3e6;
/// The length of a piece of a long window, after which the thread checks whether to stop.
const PIECE_NS: f64 = 50e6;

/// A point of the curve and the times of its runs.
struct Point {
    slice_ns: f64,
    work: Work,
    took_ns: Vec<f64>,
    /// The probes of the core in each of its runs; empty without probing.
    probed: Vec<Probed>,
    /// The end of the time.
    end: Instant,
}

impl turns::Cell for Point {
    fn title(&self) -> String {
        format!("running busy loops of {}", terminal::nanoseconds(self.slice_ns))
    }

    fn place(&self) -> (String, String) {
        (terminal::nanoseconds(self.slice_ns), String::new())
    }

    /// Returns the time that the system took of the best run so far.
    fn shown(&self) -> Option<Shown> {
        let best = self.took_ns.iter().copied().min_by(f64::total_cmp)?;
        Some(Shown::Level((1.0 - self.slice_ns / best).max(0.0)))
    }

    fn turns(&self) -> u64 {
        self.took_ns.len() as u64
    }

    /// Returns whether there is time for it: a long window needs its time; a short one is always run.
    fn is_due(&self) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        left >= Duration::from_nanos(self.slice_ns as u64) || (self.took_ns.is_empty() && self.slice_ns < VISIT_NS)
    }
}

/// The instruments of the curve.
pub struct Curve<'a> {
    pub plan: &'a Plan,
    pub session: &'a Session,
    pub calibrated: &'a Calibrated,
    pub began: Instant,
    pub progress: &'a Progress,
}

/// Visits all windows in random order, round after round, within the budget; before each visit the clock is read, too.
pub fn curve(of: &Curve<'_>, monitor: &mut SmtMonitor, reads: &mut Reads) -> anyhow::Result<Vec<Row>> {
    let &Curve { plan, session, calibrated, began, progress } = of;
    let grind = &calibrated.grind;
    let end = began + plan.budget;
    let new_point =
        |&slice_ns: &f64| Point { slice_ns, work: grind.work(slice_ns), took_ns: Vec::new(), probed: Vec::new(), end };
    let mut points: Vec<Point> = plan.slices_ns.iter().map(new_point).collect();
    // Each point decides itself whether there is time for it.
    let rules = Rules { began, budget: None, precision: None, at_least: 0, at_most: BEST_OF as u64 };
    take_turns(&mut points, &rules, session, progress, |point| {
        monitor.learn(&reads.take(calibrated.clock(), monitor.probe));
        let known = point.probed.len();
        let looks = monitor.probe.map(|probe| Looks::begin(calibrated.clock(), probe));
        let flow = visit(calibrated, point, looks, &session.interruption);
        monitor.learn(&point.probed[known..]);
        Ok(flow)
    })?;
    let cycles = grind.cycles_per_load().unwrap_or(1.0);
    Ok(points.iter().filter(|point| !point.took_ns.is_empty()).map(|point| slice_row(point, cycles, monitor)).collect())
}

fn visit(
    calibrated: &Calibrated,
    point: &mut Point,
    mut looks: Option<Looks>,
    interruption: &Interruption,
) -> ControlFlow<()> {
    let clock = calibrated.clock();
    let clock_cost_ns = calibrated.quality.stamp.mean_of_1000_ns;
    let runs = (VISIT_NS / point.slice_ns).ceil().clamp(1.0, (BEST_OF - point.took_ns.len()) as f64);
    let pieces = (point.slice_ns / PIECE_NS).ceil().max(1.0) as u64;
    for _ in 0..runs as usize {
        let took = loops::clock::slice(clock, point.work, pieces, &mut || {
            interruption.flow()?;
            looks.iter_mut().for_each(Looks::look);
            ControlFlow::Continue(())
        })?;
        point.took_ns.push(clock.to_ns(took) - clock_cost_ns);
        looks.iter_mut().for_each(|looks| looks.end_run(&mut point.probed));
    }
    looks.iter_mut().for_each(|looks| looks.last_probe(&mut point.probed));
    ControlFlow::Continue(())
}

fn slice_row(point: &Point, cycles_per_load: f64, monitor: &SmtMonitor) -> Row {
    let cycles = point.work.loads() as f64 * cycles_per_load;
    let mut mhz: Vec<f64> = point.took_ns.iter().map(|ns| cycles / ns * 1e3).collect();
    let probed_runs = mhz.iter().copied().zip(point.probed.iter().map(std::slice::from_ref));
    let split = monitor.split(probed_runs);
    let (median_mhz_alone, median_mhz_alone_ci) = fields(split.alone);
    mhz.sort_by(f64::total_cmp);
    Row::Slice(SliceRow {
        slice_us: point.slice_ns / 1e3,
        runs: mhz.len(),
        best_mhz: mhz[mhz.len() - 1],
        median_mhz: median(&mhz).expect("a point has runs"),
        median_ci_mhz: sample_quantile_interval(&mhz, 0.5, CONFIDENCE),
        core_shared_share: split.shared_share,
        core_correlation: split.correlation,
        median_mhz_alone,
        median_mhz_alone_ci,
        median_mhz_shared: split.shared.map(|figure| figure.value),
    })
}

/// The time within which SMT interference comes and goes.
const APART: Duration = Duration::from_micros(1500);

/// The last probe, and the runs since then.
pub struct Looks {
    clock: Clock,
    probe: Probe,
    last: Reading,
    last_at: u64,
    /// The probes since the first of the waiting runs began.
    since: Option<Probed>,
    waiting: usize,
}

impl Looks {
    pub fn begin(clock: Clock, probe: Probe) -> Self {
        Self { clock, probe, last: probe.take(), last_at: clock.now(), since: None, waiting: 0 }
    }

    /// Probes within a long run.
    pub fn look(&mut self) {
        let now = self.probe.take();
        let probed = Probed::between(self.last, now);
        self.since = Some(self.since.map_or(probed, |since| since.with(probed)));
        (self.last, self.last_at) = (now, self.clock.now());
    }

    /// Ends a run: classifies those that waited for a probe, if one is due.
    pub fn end_run(&mut self, probed_runs: &mut Vec<Probed>) {
        self.waiting += 1;
        if self.clock.now() - self.last_at >= self.clock.ticks_in(APART) {
            self.last_probe(probed_runs);
        }
    }

    /// Probes a last time, for the runs that still wait.
    pub fn last_probe(&mut self, probed_runs: &mut Vec<Probed>) {
        if self.waiting > 0 {
            self.look();
            let probed = self.since.take();
            probed_runs.extend(probed.into_iter().cycle().take(self.waiting));
            self.waiting = 0;
        }
    }
}

/// Reads of the clock in thousands, each with the probes around it.
#[derive(Default)]
pub struct Reads {
    /// The time of plain and of ordered reads, in nanoseconds.
    thousands: Thinned<([f64; 2], Probed)>,
}

impl Reads {
    /// Reads one more thousand of each kind, for about thirty microseconds; nothing without probing.
    pub fn take(&mut self, clock: Clock, probe: Option<Probe>) -> Option<Probed> {
        let probe = probe?;
        let before = probe.take();
        let costs = [read_cost_ns(clock), ordered_read_cost_ns(clock)];
        let probed = Probed::between(before, probe.take());
        self.thousands.push((costs, probed));
        Some(probed)
    }

    pub fn plain(&self, monitor: &SmtMonitor) -> Split {
        self.split(0, monitor)
    }

    pub fn ordered(&self, monitor: &SmtMonitor) -> Split {
        self.split(1, monitor)
    }

    fn split(&self, kind: usize, monitor: &SmtMonitor) -> Split {
        monitor.split(self.thousands.iter().map(|(costs, probed)| (costs[kind], std::slice::from_ref(probed))))
    }
}
