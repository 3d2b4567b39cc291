//! The measurement: counters compared, the grind checked, gaps watched, and the curve of slices.

mod curve;
mod looks;
mod periods;
mod reads;

use super::plan::Plan;
use super::record::{AgreementRow, CheckRow, ClockRow, GrindRow, LossesRow, Row};
use curve::{Curve, curve};
use harness::{Calibrated, Lookout, Progress, Session};
use instruments::clock::{Clock, Cost, agreement};
use instruments::gaps::{Limit, Reader, Watch};
use instruments::period::{self, Gap};
use instruments::statistics::comparison::Estimate;
use instruments::team::on_cpu;
use instruments::warning::Warning;
use reads::Reads;
use std::io;
use std::time::Instant;

/// What the experiment brought.
pub struct Measured {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// Measures on the first of the plan's CPUs, and says what it is at.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let began = Instant::now();
    progress.note("comparing the counters of the CPUs");
    let (mut rows, mut reads) = (Vec::new(), Reads::default());
    let mut lookout = Lookout::open(session, calibrated.clock());
    for &cpu in plan.cpus[1..].iter().take_while(|_| !session.interruption.is_requested()) {
        rows.push(agreement_row(calibrated, cpu)?);
    }
    let on_cpu = on_cpu(calibrated.cpu, || {
        let mut rows = grind_rows(calibrated);
        progress.note("searching for periodic losses");
        rows.extend(loss_rows(plan, session, calibrated)?);
        rows.extend(curve(&Curve { plan, session, calibrated, began, progress }, &mut lookout, &mut reads)?);
        anyhow::Ok(rows)
    })?;
    rows.extend(on_cpu?);
    // Last, so that the conversion is compared over as long a span as there was.
    rows.insert(0, clock_row(calibrated, &reads, &lookout));
    Ok(Measured { rows, warnings: lookout.warnings().collect() })
}

fn clock_row(calibrated: &Calibrated, reads: &Reads, lookout: &Lookout) -> Row {
    let Calibrated { calibration, quality, cpu, .. } = calibrated;
    let clock = calibration.clock;
    let error = calibration.error_since();
    let at = |cost: &Cost, q| cost.differences.quantile(q).map_or(0.0, |ticks| clock.to_ns(ticks));
    let (plain, ordered) = (reads.plain(lookout), reads.ordered(lookout));
    let value = |figure: Option<Estimate>| figure.map(|figure| figure.value);
    let interval = |figure: Option<Estimate>| figure.and_then(|figure| figure.interval);
    Row::Clock(ClockRow {
        source: clock.source(),
        fallback: calibration.fallback.clone(),
        cpu: *cpu,
        frequency_mhz: 1e3 / clock.ns_per_tick(),
        resolution_ns: quality.resolution_ns,
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
        read_cost_ns_alone: value(plain.alone),
        read_cost_ns_alone_ci: interval(plain.alone),
        read_cost_ns_shared: value(plain.shared),
        ordered_read_cost_ns_alone: value(ordered.alone),
        ordered_read_cost_ns_alone_ci: interval(ordered.alone),
        ordered_read_cost_ns_shared: value(ordered.shared),
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

/// Lengths at which the grind is checked, in nanoseconds; 6.1 µs is the critical section of 1998.
const CHECKED_NS: [f64; 5] = [100.0, 1_000.0, 6_100.0, 100_000.0, 800_000.0];

fn grind_rows(calibrated: &Calibrated) -> Vec<Row> {
    let grind = &calibrated.grind;
    let last = grind.search[grind.search.len() - 1];
    let grind_row = Row::Grind(GrindRow {
        load_ns: grind.ns_per_load,
        load_cycles: grind.cycles_per_load(),
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

/// The tick rates that kernels are built with, tried where this one's configuration cannot be read.
const USUAL_HZ: [f64; 4] = [100.0, 250.0, 300.0, 1_000.0];

/// Gaps of a watch that there is room for.
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

/// None if a signal comes before the search has ended.
fn periodic_rows(clock: Clock, watched: &Watch, kernel_hz: Option<u32>, session: &Session) -> io::Result<Vec<Row>> {
    let gaps: Vec<Gap> = watched
        .gaps
        .iter()
        .map(|gap| Gap { start_ns: clock.to_ns(gap.start - watched.start), duration_ns: clock.to_ns(gap.length) })
        .collect();
    let likely: Vec<f64> = kernel_hz.map_or(USUAL_HZ.to_vec(), |hz| vec![f64::from(hz)]);
    let span_ns = clock.to_ns(watched.span);
    let rows = session
        .interruption
        .unless_requested(move || periods::rows(&period::find_among(&gaps, span_ns, &likely), kernel_hz, &gaps))?;
    Ok(rows.unwrap_or_default())
}
