//! The curve: how fast work of each length runs, from 10 µs to seconds, with reads of the clock before each visit.
//!
//! Probes stand around the runs: often enough for a neighbour of milliseconds, seldom enough to cost nothing.

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
/// Short slices are run for at least this long at a visit.
const VISIT_NS: f64 = 3e6;
/// Between pieces of a long slice someone looks whether to stop.
const PIECE_NS: f64 = 50e6;

/// A point of the curve and what its runs took.
struct Point {
    slice_ns: f64,
    work: Work,
    took_ns: Vec<f64>,
    /// Who was on the core in each of its runs; empty where nobody looks.
    probed: Vec<Probed>,
    /// When the time is up.
    end: Instant,
}

impl turns::Cell for Point {
    fn title(&self) -> String {
        format!("running busy loops of {}", terminal::nanoseconds(self.slice_ns))
    }

    fn place(&self) -> (String, String) {
        (terminal::nanoseconds(self.slice_ns), String::new())
    }

    /// What the system took of the best run so far.
    fn shown(&self) -> Option<Shown> {
        let best = self.took_ns.iter().copied().min_by(f64::total_cmp)?;
        Some(Shown::Level((1.0 - self.slice_ns / best).max(0.0)))
    }

    fn turns(&self) -> u64 {
        self.took_ns.len() as u64
    }

    /// A long slice needs its time; a short one has a turn in any case.
    fn is_due(&self) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        left >= Duration::from_nanos(self.slice_ns as u64) || (self.took_ns.is_empty() && self.slice_ns < VISIT_NS)
    }
}

/// What the curve is measured with.
pub struct Curve<'a> {
    pub plan: &'a Plan,
    pub session: &'a Session,
    pub calibrated: &'a Calibrated,
    pub began: Instant,
    pub progress: &'a Progress,
}

/// Visits all slices in random order, round after round, while the budget lasts; before each visit the clock is read,
/// too.
pub fn curve(of: &Curve<'_>, monitor: &mut SmtMonitor, reads: &mut Reads) -> anyhow::Result<Vec<Row>> {
    let &Curve { plan, session, calibrated, began, progress } = of;
    let grind = &calibrated.grind;
    let end = began + plan.budget;
    let new_point =
        |&slice_ns: &f64| Point { slice_ns, work: grind.work(slice_ns), took_ns: Vec::new(), probed: Vec::new(), end };
    let mut points: Vec<Point> = plan.slices_ns.iter().map(new_point).collect();
    // Each point knows itself whether there is time for it.
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
    looks.iter_mut().for_each(|looks| looks.tell(&mut point.probed));
    ControlFlow::Continue(())
}

fn slice_row(point: &Point, cycles_per_load: f64, monitor: &SmtMonitor) -> Row {
    let cycles = point.work.loads() as f64 * cycles_per_load;
    let mut mhz: Vec<f64> = point.took_ns.iter().map(|ns| cycles / ns * 1e3).collect();
    let told = mhz.iter().copied().zip(point.probed.iter().map(std::slice::from_ref));
    let split = monitor.split(told);
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

/// A neighbour comes and goes within so long.
const APART: Duration = Duration::from_micros(1500);

/// The last probe, and the runs since then.
pub struct Looks {
    clock: Clock,
    probe: Probe,
    last: Reading,
    last_at: u64,
    /// What was probed since the first of the runs that wait began.
    since: Option<Probed>,
    waiting: usize,
}

impl Looks {
    pub fn begin(clock: Clock, probe: Probe) -> Self {
        Self { clock, probe, last: probe.take(), last_at: clock.now(), since: None, waiting: 0 }
    }

    /// Within a run that is long.
    pub fn look(&mut self) {
        let now = self.probe.take();
        let probed = Probed::between(self.last, now);
        self.since = Some(self.since.map_or(probed, |since| since.with(probed)));
        (self.last, self.last_at) = (now, self.clock.now());
    }

    /// After a run: what is known of those that waited for it, if it is time for a probe.
    pub fn end_run(&mut self, told: &mut Vec<Probed>) {
        self.waiting += 1;
        if self.clock.now() - self.last_at >= self.clock.ticks_in(APART) {
            self.tell(told);
        }
    }

    /// A last probe for the runs that still wait.
    pub fn tell(&mut self, told: &mut Vec<Probed>) {
        if self.waiting > 0 {
            self.look();
            let probed = self.since.take();
            told.extend(probed.into_iter().cycle().take(self.waiting));
            self.waiting = 0;
        }
    }
}

/// Thousands of reads, each with the probes around it.
#[derive(Default)]
pub struct Reads {
    /// Plain and ordered, in nanoseconds.
    thousands: Thinned<([f64; 2], Probed)>,
}

impl Reads {
    /// One more thousand of each kind, some thirty microseconds; nothing where nobody looks.
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
