//! The measurement: counters are compared, the busy loop is checked, gaps are sampled for the kernel's tick, and the
//! curve of windows is measured.

use super::plan::Plan;
use super::record::{AgreementRow, CheckRow, ClockRow, GrindRow, LossesRow, PeriodicLossRow, Row, SliceRow};
use crate::estimates::fields;
use harness::turns::{self, Rules, take_turns};
use harness::{Calibrated, Interruption, Progress, Session, Shown, SmtMonitor};
use instruments::clock::{Clock, Cost, agreement, ordered_read_cost_ns, read_cost_ns};
use instruments::gaps::{Limit, Reader, Watch};
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed, Reading, Split};
use instruments::period::{self, Gap, Period};
use instruments::statistics::Thinned;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::team::on_cpu;
use instruments::warning::Warning;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The results of the experiment.
pub struct Measured {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// Measures on the first of the plan's CPUs, and reports the current step.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let began = Instant::now();
    progress.note("comparing the counters of the CPUs");
    let (mut rows, mut reads) = (Vec::new(), Reads::default());
    let mut monitor = SmtMonitor::open(session, calibrated.clock());
    for &cpu in plan.cpus[1..].iter().take_while(|_| !session.interruption.is_requested()) {
        rows.push(agreement_row(calibrated, cpu)?);
    }
    let on_cpu = on_cpu(calibrated.cpu, || {
        let mut rows = grind_rows(calibrated);
        progress.note("searching for periodic losses");
        rows.extend(loss_rows(plan, session, calibrated)?);
        rows.extend(curve(&Curve { plan, session, calibrated, began, progress }, &mut monitor, &mut reads)?);
        anyhow::Ok(rows)
    })?;
    rows.extend(on_cpu?);
    // Last, so that the conversion is compared over the longest possible span.
    rows.insert(0, clock_row(calibrated, &reads, &monitor));
    Ok(Measured { rows, warnings: monitor.warnings().collect() })
}

fn clock_row(calibrated: &Calibrated, reads: &Reads, monitor: &SmtMonitor) -> Row {
    let Calibrated { calibration, quality, cpu, .. } = calibrated;
    let clock = calibration.clock;
    let error = calibration.error_since();
    let at = |cost: &Cost, q| cost.differences.quantile(q).map_or(0.0, |ticks| clock.to_ns(ticks));
    let (plain, ordered) = (reads.plain(monitor), reads.ordered(monitor));
    let (read_cost_ns_alone, read_cost_ns_alone_ci) = fields(plain.alone);
    let (ordered_read_cost_ns_alone, ordered_read_cost_ns_alone_ci) = fields(ordered.alone);
    Row::Clock(ClockRow {
        source: clock.source(),
        fallback: calibration.fallback.as_deref().map(Box::from),
        cpu: *cpu,
        frequency_mhz: 1e3 / clock.ns_per_tick(),
        resolution_ns: quality.is_resolved.then_some(quality.resolution_ns),
        read_cost_ns: quality.now.mean_of_1000_ns,
        read_least_ns: quality.now.least_ns,
        read_p50_ns: at(&quality.now, 0.5),
        read_p99_ns: at(&quality.now, 0.99),
        read_max_ns: at(&quality.now, 1.0),
        ordered_read_cost_ns: quality.stamp.mean_of_1000_ns,
        ordered_read_least_ns: quality.stamp.least_ns,
        ordered_read_p50_ns: at(&quality.stamp, 0.5),
        ordered_read_p99_ns: at(&quality.stamp, 0.99),
        ordered_read_max_ns: at(&quality.stamp, 1.0),
        reads_count: quality.now.differences.count(),
        core_shared_share: plain.shared_share,
        core_correlation: plain.correlation,
        read_cost_ns_alone,
        read_cost_ns_alone_ci,
        read_cost_ns_shared: plain.shared.map(|figure| figure.value),
        ordered_read_cost_ns_alone,
        ordered_read_cost_ns_alone_ci,
        ordered_read_cost_ns_shared: ordered.shared.map(|figure| figure.value),
        backward_steps: quality.backward_steps,
        residual_ns: calibration.residual_ns,
        uncertainty_ppm: calibration.uncertainty_ppm,
        conversion_error_ppm: error.error_ppm,
        conversion_uncertainty_ppm: Some(error.uncertainty_ppm),
        conversion_span_s: error.span_s,
    })
}

fn agreement_row(calibrated: &Calibrated, cpu: usize) -> io::Result<Row> {
    let found = agreement(calibrated.clock(), calibrated.cpu, cpu)?;
    Ok(Row::Agreement(AgreementRow {
        cpu: found.cpu,
        reference_cpu: found.reference_cpu,
        offset_low_ns: found.low_ns,
        offset_high_ns: found.high_ns,
        exchanges: found.exchanges,
        out_of_order: found.out_of_order,
    }))
}

/// The lengths at which the busy loop is checked, in nanoseconds; 6.1 µs is the critical section of 1998.
const CHECKED_NS: [f64; 5] = [100.0, 1_000.0, 6_100.0, 100_000.0, 800_000.0];

fn grind_rows(calibrated: &Calibrated) -> Vec<Row> {
    let grind = &calibrated.grind;
    let last = grind.search[grind.search.len() - 1];
    let grind_row = Row::Grind(GrindRow {
        load_ns: grind.ns_per_load,
        load_cycles: grind.cycles_per_load,
        core_mhz: grind.mhz(),
        overhead_ns: grind.overhead_ns,
        calibrated_loads: last.loads,
        calibrated_us: last.best_ns / 1e3,
        candidates: grind.search.len(),
    });
    let checks = CHECKED_NS.map(|ns| {
        let check = grind.check(calibrated.clock(), ns);
        Row::GrindCheck(CheckRow {
            requested_us: check.requested_ns / 1e3,
            best_us: check.best_ns / 1e3,
            median_us: check.median_ns / 1e3,
            holds: check.holds(),
        })
    });
    std::iter::once(grind_row).chain(checks).collect()
}

/// The usual tick rates of kernels, tried where this one's configuration cannot be read.
const USUAL_HZ: [f64; 4] = [100.0, 250.0, 300.0, 1_000.0];

/// The maximum number of gaps of a watch.
const CAPACITY: usize = 1 << 20;

fn loss_rows(plan: &Plan, session: &Session, calibrated: &Calibrated) -> io::Result<Vec<Row>> {
    let clock = calibrated.clock();
    let limit = Limit { length: plan.watch, passes: u64::MAX };
    let watched = Reader::new(clock, CAPACITY).read(limit, |_, _| session.interruption.flow());
    let kernel_hz = session.environment.kernel.hz;
    let longest = watched.gaps.iter().map(|gap| gap.length).max().unwrap_or(0);
    let losses = Row::Losses(LossesRow {
        cpu: calibrated.cpu,
        watched_s: clock.to_ns(watched.span) / 1e9,
        threshold_ns: clock.to_ns(watched.threshold),
        gaps: watched.gaps.len(),
        lost_share: watched.lost_share(),
        longest_us: clock.to_ns(longest) / 1e3,
        kernel_hz,
    });
    let periodic = periodic_rows(clock, &watched, kernel_hz, session)?;
    Ok(std::iter::once(losses).chain(periodic).collect())
}

/// Returns the periodic components; none if a signal comes before the search has ended.
fn periodic_rows(clock: Clock, watched: &Watch, kernel_hz: Option<u32>, session: &Session) -> io::Result<Vec<Row>> {
    let gaps: Vec<Gap> = watched
        .gaps
        .iter()
        .map(|gap| Gap { start_ns: clock.to_ns(gap.start - watched.start), duration_ns: clock.to_ns(gap.length) })
        .collect();
    let likely: Vec<f64> = kernel_hz.map_or(USUAL_HZ.to_vec(), |hz| vec![f64::from(hz)]);
    let span_ns = clock.to_ns(watched.span);
    let rows = session.interruption.unless_requested(session.last_moment(), move || {
        rows(&period::find_among(&gaps, span_ns, &likely), kernel_hz, &gaps)
    })?;
    Ok(rows.unwrap_or_default())
}

/// The maximum relative difference of a kernel tick's period from 1/HZ.
const OFF_HZ_SHARE: f64 = 0.01;

/// Returns the rows of the periods.
///
/// Among several periods that match the tick, the one that takes most is the tick: its deferred work, and other timers
/// of the kernel, come as often at other moments.
fn rows(found: &[Period], kernel_hz: Option<u32>, gaps: &[Gap]) -> Vec<Row> {
    let tick_ns = kernel_hz.map(|hz| 1e9 / f64::from(hz));
    let is_as_often = |found: &&Period| tick_ns.is_some_and(|tick| (tick / found.period_ns - 1.0).abs() < OFF_HZ_SHARE);
    let tick = found.iter().filter(is_as_often).max_by(|a, b| a.total_ns.total_cmp(&b.total_ns));
    let folded = tick_ns.and_then(|tick| period::fold(gaps, tick));
    let row = |found: &Period| {
        let is_kernel_tick = tick == Some(found);
        Row::PeriodicLoss(PeriodicLossRow {
            period_us: found.period_ns / 1e3,
            frequency_hz: 1e9 / found.period_ns,
            gaps: found.gaps,
            median_gap_us: found.median_gap_ns / 1e3,
            presence_share: found.presence,
            is_kernel_tick,
            folded_gap_us: folded.filter(|_| is_kernel_tick).map(|folded| folded.median_gap_ns / 1e3),
        })
    };
    found.iter().map(row).collect()
}

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
struct Curve<'a> {
    plan: &'a Plan,
    session: &'a Session,
    calibrated: &'a Calibrated,
    began: Instant,
    progress: &'a Progress,
}

/// Visits all windows in random order, round after round, within the budget; before each visit the clock is read, too.
///
/// Probes surround the runs: often enough to detect an SMT sibling that is active for milliseconds, rarely enough to
/// cost nothing.
fn curve(of: &Curve<'_>, monitor: &mut SmtMonitor, reads: &mut Reads) -> anyhow::Result<Vec<Row>> {
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
    let cycles = grind.cycles_per_load.unwrap_or(1.0);
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
struct Looks {
    clock: Clock,
    probe: Probe,
    last: Reading,
    last_at: u64,
    /// The probes since the first of the waiting runs began.
    since: Option<Probed>,
    waiting: usize,
}

impl Looks {
    fn begin(clock: Clock, probe: Probe) -> Self {
        Self { clock, probe, last: probe.take(), last_at: clock.now(), since: None, waiting: 0 }
    }

    /// Probes within a long run.
    fn look(&mut self) {
        let now = self.probe.take();
        let probed = Probed::between(self.last, now);
        self.since = Some(self.since.map_or(probed, |since| since.with(probed)));
        (self.last, self.last_at) = (now, self.clock.now());
    }

    /// Ends a run: classifies those that waited for a probe, if one is due.
    fn end_run(&mut self, probed_runs: &mut Vec<Probed>) {
        self.waiting += 1;
        if self.clock.now() - self.last_at >= self.clock.ticks_in(APART) {
            self.last_probe(probed_runs);
        }
    }

    /// Probes a last time, for the runs that still wait.
    fn last_probe(&mut self, probed_runs: &mut Vec<Probed>) {
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
struct Reads {
    /// The time of plain and of ordered reads, in nanoseconds.
    thousands: Thinned<([f64; 2], Probed)>,
}

impl Reads {
    /// Reads one more thousand of each kind, for about thirty microseconds; nothing without probing.
    fn take(&mut self, clock: Clock, probe: Option<Probe>) -> Option<Probed> {
        let probe = probe?;
        let before = probe.take();
        let costs = [read_cost_ns(clock), ordered_read_cost_ns(clock)];
        let probed = Probed::between(before, probe.take());
        self.thousands.push((costs, probed));
        Some(probed)
    }

    fn plain(&self, monitor: &SmtMonitor) -> Split {
        self.split(0, monitor)
    }

    fn ordered(&self, monitor: &SmtMonitor) -> Split {
        self.split(1, monitor)
    }

    fn split(&self, kind: usize, monitor: &SmtMonitor) -> Split {
        monitor.split(self.thousands.iter().map(|(costs, probed)| (costs[kind], std::slice::from_ref(probed))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns this many gaps of this length, 4 ms apart.
    fn comb(phase_ns: f64, gaps: usize, gap_ns: f64) -> (Period, Vec<Gap>) {
        let start_ns = |beat: usize| phase_ns + 4e6 * beat as f64;
        let all: Vec<Gap> = (0..gaps).map(|beat| Gap { start_ns: start_ns(beat), duration_ns: gap_ns }).collect();
        (period::find_among(&all, 2e9, &[])[0], all)
    }

    #[test]
    fn only_one_component_at_the_tick_rate_is_the_tick() {
        let ((echo, mut gaps), (tick, of_tick)) = (comb(1.5e6, 490, 1_700.0), comb(1e6, 500, 42_000.0));
        gaps.extend(of_tick);
        let found = rows(&[echo, tick], Some(250), &gaps);
        let ticks = found.iter().map(|row| match row {
            Row::PeriodicLoss(loss) => (loss.is_kernel_tick, loss.folded_gap_us.map(f64::round)),
            _ => unreachable!("all are periods"),
        });
        assert_eq!(ticks.collect::<Vec<_>>(), [(false, None), (true, Some(42.0))]);
    }
}
