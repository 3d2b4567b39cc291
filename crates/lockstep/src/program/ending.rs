//! The results of all ranks, combined by rank 0: predictions and measurements, and the record.

use super::measure::{Level, Measured, TURNS, Tally};
use super::world::Group;
use chance::Gap;
use harness::output::{self, OutputFile};
use harness::{AnyRecord, Finished, Session};
use instruments::cpus::CpuSet;
use instruments::statistics::Interval;
use instruments::statistics::order::sample_quantile;
use instruments::warning::Warning;
use lockstep::alignment::Alignment;
use lockstep::flags::Flags;
use lockstep::prediction::{Groups, Job, MOST_NODES, agree, half_of_mean};
use lockstep::record::{NAME, NodesRow, Oversubscribed, Parameters, RankRow, Row, ShortGapsLeftOut, StepsRow};
use lockstep::traces::{Traces, read, shortest_kept_ns, written};
use serde::{Deserialize, Serialize};

/// The maximum number of gaps in a record.
const ROOM: usize = 300_000;

/// The report of a rank to rank 0 at the end.
#[derive(Serialize, Deserialize)]
struct RankReport {
    row: RankRow,
    /// The work of a step without gaps, by level.
    work_ns: Vec<Option<f64>>,
}

/// Collects the other ranks' rows on rank 0, which predicts and writes the record.
pub fn conclude(
    world: &Group,
    flags: &Flags,
    seed: u64,
    mut measured: Measured,
    first: Option<(Session, Option<OutputFile>)>,
) -> anyhow::Result<()> {
    let mut warnings = left_out(world, &mut measured.tally);
    let report =
        RankReport { row: row(world, &measured), work_ns: measured.tally.levels.iter().map(Level::work_ns).collect() };
    let reports = world.texts_at_first(&serde_json::to_string(&report)?);
    if let Some((session, file)) = first {
        let all: Vec<RankReport> = reports.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>()?;
        let crowd = measured.place.crowd(world.size);
        let cpus = measured.place.cpus() as u64;
        warnings.extend((crowd > 1).then(|| Warning::from(Oversubscribed { ranks: world.size as u64, cpus })));
        warnings.extend(measured.bench.recorder.warnings().iter().cloned());
        let rows = rows(&measured, &all, seed)?;
        let record = record(&session, world, flags, &measured, rows, warnings)?;
        write(&record, file)?;
    }
    world.wait_gently();
    Ok(())
}

/// Drops the gaps that do not fit, the same lengths in all traces.
fn left_out(world: &Group, tally: &mut Tally) -> Vec<Warning> {
    let own = shortest_kept_ns(&tally.gaps, ROOM / world.size);
    let least_ns = world.greatest(&[own as f64])[0] as u64;
    let length = |gaps: &[Gap]| gaps.iter().map(|gap| gap.duration_ns as f64).sum::<f64>();
    let before = length(&tally.gaps);
    tally.gaps.retain(|gap| gap.duration_ns >= least_ns);
    let share = if before > 0.0 { 1.0 - length(&tally.gaps) / before } else { 0.0 };
    let lost_share = world.greatest(&[share])[0];
    let warning = ShortGapsLeftOut { below_us: least_ns as f64 / 1e3, lost_share };
    if least_ns > 0 { vec![warning.into()] } else { Vec::new() }
}

fn row(world: &Group, measured: &Measured) -> RankRow {
    let Measured { place, bench, tally, first_meeting, last_meeting } = measured;
    let work_ns = tally.levels.last().and_then(Level::work_ns).unwrap_or(0.0);
    RankRow {
        rank: world.rank as u64,
        host: place.host.clone(),
        cpu: place.cpu as u64,
        ranks_on_cpu: place.ranks_on_cpu(world.rank) as u64,
        clock_offset_us: first_meeting.offset_ns / 1e3,
        clock_error_us: tally.clock_error_ns / 1e3,
        clock_drift_ppm: Alignment::through(*first_meeting, *last_meeting).drift() * 1e6,
        work_us: bench.grinds as f64 * bench.watched.usual_ns() / 1e3,
        work_in_steps_us: work_ns / 1e3,
        margin_us: bench.watched.margin_ns() / 1e3,
        gaps: tally.gaps.len() as u64,
        lost_share: tally.lost_ns / tally.watched_ns.max(1.0),
        longest_us: tally.gaps.iter().map(|gap| gap.duration_ns).max().unwrap_or(0) as f64 / 1e3,
        lost_in_steps_share: tally.lost_in_steps_ns / tally.working_ns.max(1.0),
        last_steps: tally.last_steps,
        maybe_last_steps: tally.maybe_last_steps,
        causes: bench.causes.rows(),
        causes_in_steps: bench.causes_in_steps.rows(),
        explained_share: bench.causes_in_steps.explained_share(),
        evidence: bench.recorder.source(),
        trace: written(&tally.gaps, tally.span_ns),
    }
}

fn rows(measured: &Measured, all: &[RankReport], seed: u64) -> anyhow::Result<Vec<Row>> {
    let read: Vec<(Vec<Gap>, u64)> =
        all.iter().map(|report| read(&report.row.trace)).collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
    let span_ns = read.first().map_or(0, |one| one.1);
    let traces = Traces { gaps: read.into_iter().map(|one| one.0).collect(), span_ns };
    let (mut rows, mut most) = (Vec::new(), None);
    for (number, level) in measured.tally.levels.iter().enumerate() {
        // A rank that takes no part in smaller levels has its work of the full one.
        let work_ns = |rank: usize| all[rank].work_ns[number].or(*all[rank].work_ns.last()?);
        // The slowest rank decides each step, and is not always the same one: so all share the time by which they are
        // slower together.
        let slowest_ns = (0..level.ranks).filter_map(work_ns).fold(0.0, f64::max);
        let more_ns = level.slowest_work_ns().map_or(0.0, |ns| (ns - slowest_ns).max(0.0));
        let ranks = traces.ranks(|rank| work_ns(rank).map_or(1, |ns| (ns + more_ns).round().max(1.0) as u64))?;
        let barrier_ns = sample_quantile(&level.rests, 0.5).unwrap_or(0.0).round() as u64;
        let job = Job { ranks: &ranks, barrier_ns };
        rows.push(Row::Steps(steps_row(level, &job, measured.place.crowd(level.ranks) > 1, seed)));
        most = Some(job.groups(level.ranks)).filter(|_| number + 1 == measured.tally.levels.len());
    }
    rows.extend(most.iter().flat_map(|groups| nodes_rows(groups, all.len() as u64)));
    rows.extend(measured.tally.long_steps.iter().cloned().map(Row::LongStep));
    rows.extend(all.iter().map(|report| Row::Rank(Box::new(report.row.clone()))));
    Ok(rows)
}

fn steps_row(level: &Level, job: &Job<'_>, oversubscribed: bool, seed: u64) -> StepsRow {
    let quiet_ns = job.quiet_ns(level.ranks);
    let made_ns = level.lengths.iter().sum::<f64>();
    let predicted = job.as_recorded(level.ranks, seed).of_steps(made_ns, job.ranks.span_ns() as f64);
    let mean_ns = made_ns / level.lengths.len().max(1) as f64;
    let slowdown = mean_ns / quiet_ns;
    let half = half_of_mean(&level.turn_means).map(|half_ns| half_ns / quiet_ns);
    let interval = half.map(|half| Interval::new(slowdown - half, slowdown + half));
    let both = interval.zip(predicted.interval);
    let agree = both.map(|(own, other)| agree((slowdown, own), (predicted.slowdown, other)));
    let quantile_us = |p: f64| sample_quantile(&level.lengths, p).unwrap_or(0.0) / 1e3;
    StepsRow {
        ranks: level.ranks as u64,
        steps: level.lengths.len() as u64,
        quiet_us: quiet_ns / 1e3,
        barrier_us: job.barrier_ns as f64 / 1e3,
        mean_us: mean_ns / 1e3,
        p50_us: quantile_us(0.5),
        p99_us: quantile_us(0.99),
        longest_us: quantile_us(1.0),
        slowdown,
        slowdown_ci: interval,
        predicted_slowdown: predicted.slowdown,
        predicted_ci: predicted.interval,
        apart_slowdown: job.apart(level.ranks, seed),
        agree,
        oversubscribed,
    }
}

/// Returns rows for powers of ten beyond the existing ranks.
fn nodes_rows(groups: &Groups, ranks: u64) -> Vec<Row> {
    let powers = std::iter::successors(Some(10_u64), |nodes| Some(nodes * 10));
    let supported_nodes = groups.supported_nodes();
    let row = |nodes: u64| {
        let predicted = groups.slowdown(nodes);
        Row::Nodes(NodesRow {
            nodes,
            slowdown: predicted.slowdown,
            slowdown_ci: predicted.interval,
            together_slowdown: groups.together(),
            supported: nodes <= supported_nodes,
            supported_nodes,
        })
    };
    powers.take_while(|nodes| *nodes <= MOST_NODES).filter(|nodes| *nodes > ranks).map(row).collect()
}

fn record(
    session: &Session,
    world: &Group,
    flags: &Flags,
    measured: &Measured,
    rows: Vec<Row>,
    warnings: Vec<Warning>,
) -> anyhow::Result<AnyRecord> {
    let assumptions = [
        "noise is the same while all ranks compute as while they make steps",
        "a waiting rank loses nothing to interruptions during its wait",
        "a predicted step has the work of the slowest rank and the median barrier of the measured steps; the traces \
         contribute only gaps",
        "more nodes than ranks: groups of the recorded size, each with the recorded interruptions, independent of the \
         other groups; the barrier takes no longer",
        "stationarity: the machines behave as recorded; the recording repeats indefinitely",
    ];
    let parameters = Parameters {
        step_us: flags.step.as_nanos() as f64 / 1e3,
        collective: flags.collective,
        ranks: world.size as u64,
        hosts: measured.place.hosts(),
        turns: TURNS,
        seconds: flags.seconds.as_secs_f64(),
        injected_us: flags.inject.map(|injection| injection.length_ns as f64 / 1e3),
        injected_every_us: flags.inject.map(|injection| injection.every_ns as f64 / 1e3),
        mpi: mpi::environment::library_version()
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default()
            .trim_end_matches(|end: char| end == '\0' || end.is_whitespace())
            .into(),
        assumptions: assumptions.map(str::to_owned).to_vec(),
    };
    let cpus = CpuSet::single(measured.place.cpu);
    let finished = Finished::measured(parameters, rows, warnings, cpus, None);
    // Other ranks are other processes: their CPU time is part of the job.
    Ok(finished.without(["other_load"]).erased()?.take_record(NAME, session))
}

fn write(record: &AnyRecord, file: Option<OutputFile>) -> anyhow::Result<()> {
    let json = output::json_line(record)?;
    match file {
        Some(file) => file.write(json.as_bytes()),
        None => Ok(output::print_json(&json)?),
    }
}
