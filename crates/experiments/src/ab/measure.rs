//! The measurement: blocks of runs in random order, with looks at the data, until everything is decided or the time is
//! over.

use super::conditions::{Conditions, disturbed_blocks};
use super::judge::{Comparison, Judged, differences, fewest_blocks, judge};
use super::plan::Plan;
use super::record::{
    AbParameters, AbRow, DisturbedRuns, EXPLAINING, EndedBy, LookRecord, RunRecord, Verdict, times, times_range,
};
use super::warnings::{self, ControlDiffers, FewBlocks, OutputDiffers, SameFile};
use super::watch::{Watched, watch};
use super::written::Snapshot;
use anyhow::bail;
use harness::turns::{self, Rules, take_turns};
use harness::{Interrupted, Progress, Session, SmtMonitor};
use instruments::statistics::order;
use instruments::statistics::sequential::Look;
use instruments::warning::Warning;
use launch::{FinishedRun, RateNotCompared};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The result of the measurement.
pub struct Measured {
    pub parameters: AbParameters,
    pub rows: Vec<AbRow>,
    pub warnings: Vec<Warning>,
    pub failures: Vec<String>,
    pub exceeded: Vec<String>,
    pub planned: Option<Duration>,
}

/// Metrics that every run has, in the order of the rows.
const METRICS: [&str; 7] = ["wall_s", "cpu_s", "memory_kib", "user_s", "system_s", "context_switches", "page_faults"];
/// The data are looked at after each such part of the time.
const LOOK_EVERY: f64 = 0.1;
/// The bytes by which the environment of a run is longer, at most.
const PADDING: usize = 4096;
/// Without an option, a run may take this many times as long as the longest so far, and this much longer;
const LONGER: f64 = 10.0;
const MORE: Duration = Duration::from_secs(10);
/// and a first run as long as this, or ten times the time budget.
const FIRST: Duration = Duration::from_secs(200);
/// A median that is less than this times contend's own memory may be contend's.
const ABOVE_FLOOR: f64 = 1.1;

/// A side, as the random order has it.
struct Cell {
    label: String,
    place: usize,
    runs: u64,
}

impl turns::Cell for Cell {
    /// Returns whether the others are compared with it, or it with them.
    fn is_needed(&self) -> bool {
        true
    }

    fn title(&self) -> String {
        self.label.clone()
    }

    fn turns(&self) -> u64 {
        self.runs
    }
}

/// Runs the sides.
pub fn run_plan(plan: &Plan, session: &Session, monitor: SmtMonitor, progress: &Progress) -> anyhow::Result<Measured> {
    let mut turn = Turn::new(plan, session, monitor);
    let began_warmup = Instant::now();
    turn.warm_up(progress)?;
    let block_s = began_warmup.elapsed().as_secs_f64() / plan.warmup.max(1) as f64;
    turn.budget = plan.budget(block_s);
    turn.began = Instant::now();
    turn.conditions.close_window(true);
    let mut cells: Vec<Cell> =
        plan.sides.iter().enumerate().map(|(place, side)| Cell { label: side.label.clone(), place, runs: 0 }).collect();
    let rules = Rules {
        began: turn.began,
        budget: turn.budget,
        precision: None,
        at_least: 1,
        at_most: plan.runs.unwrap_or(u64::MAX),
    };
    take_turns(&mut cells, &rules, session, progress, |cell| {
        let flow = turn.take(cell.place, cell.runs, progress);
        cell.runs += 1;
        flow
    })?;
    let watched = match plan.watch {
        true if turn.failure.is_none() => Some(watch(plan, session, progress)),
        _ => None,
    };
    turn.finish(watched)
}

/// The context of the runs, and their values.
struct Turn<'a> {
    plan: &'a Plan,
    session: &'a Session,
    budget: Option<Duration>,
    began: Instant,
    random: fastrand::Rng,
    conditions: Conditions,
    /// Values, by side, by metric, by block.
    values: Vec<Vec<Vec<f64>>>,
    runs: Vec<RunRecord>,
    looks: Vec<LookRecord>,
    /// The interval of each side at the last look, in words.
    known: Vec<String>,
    is_decided: bool,
    longest_s: f64,
    failure: Option<String>,
    statuses: Vec<Option<i32>>,
    outputs: Outputs,
    /// The files that each side wrote, with the sides.
    written: BTreeMap<PathBuf, Vec<usize>>,
    memory_floor_kib: u64,
}

/// The output of the runs, as far as it is compared.
struct Outputs {
    first: Option<String>,
    /// The output of each side's first run, while all its runs print the same.
    of_side: Vec<Option<u64>>,
    varies: Vec<bool>,
    /// The output of each side's last run, where no metric was named: it may have a rate.
    last: Vec<String>,
}

impl<'a> Turn<'a> {
    fn new(plan: &'a Plan, session: &'a Session, monitor: SmtMonitor) -> Self {
        let sides = plan.sides.len();
        let metrics = METRICS.len() + plan.metrics.len();
        Self {
            plan,
            session,
            budget: None,
            began: Instant::now(),
            random: fastrand::Rng::with_seed(session.seed ^ 0xab),
            conditions: Conditions::new(session, monitor),
            values: vec![vec![Vec::new(); metrics]; sides],
            runs: Vec::new(),
            looks: Vec::new(),
            known: vec![String::new(); sides],
            is_decided: false,
            longest_s: 0.0,
            failure: None,
            statuses: vec![None; sides],
            outputs: Outputs {
                first: None,
                of_side: vec![None; sides],
                varies: vec![false; sides],
                last: vec![String::new(); sides],
            },
            written: BTreeMap::new(),
            memory_floor_kib: own_memory_kib(),
        }
    }

    /// Executes the runs that are not measured. They show failures, the time that a run takes, and the written files.
    fn warm_up(&mut self, progress: &Progress) -> anyhow::Result<()> {
        for number in 0..self.plan.warmup {
            for place in 0..self.plan.sides.len() {
                let side = &self.plan.sides[place];
                progress.note(&format!("warm-up run: {}", side.label));
                let directory = side.directory(0).unwrap_or(Path::new("."));
                let before = (number == 0).then(|| Snapshot::of(directory));
                match self.run(place, 0) {
                    Ok(Ok(_)) => {}
                    Ok(Err(why)) => bail!("{why}, so nothing was compared"),
                    Err(error) => return Err(error),
                }
                // The control is the first side again.
                if let Some(before) = before.filter(|_| !side.is_control) {
                    for path in Snapshot::of(directory).changed_since(&before) {
                        self.written.entry(path).or_default().push(place);
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes one measured run, and looks at all of them if it completes a block.
    fn take(&mut self, place: usize, block: u64, progress: &Progress) -> anyhow::Result<ControlFlow<()>> {
        let (label, known) = (&self.plan.sides[place].label, &self.known[place]);
        progress.note(&if known.is_empty() { label.clone() } else { format!("{label}: {known}") });
        let before = self.conditions.probe();
        let (took, metrics) = match self.run(place, block) {
            Err(error) if error.is::<Interrupted>() => return Ok(ControlFlow::Break(())),
            // The runs before it are as good as they were.
            Err(error) => {
                self.failure = Some(error.to_string());
                return Ok(ControlFlow::Break(()));
            }
            Ok(Err(why)) => {
                self.failure = Some(why);
                return Ok(ControlFlow::Break(()));
            }
            Ok(Ok(run)) => run,
        };
        self.conditions.add(before, self.conditions.probe());
        let usage = took.usage;
        let of_all = [
            took.wall_s,
            usage.cpu_s(),
            usage.memory_kib as f64,
            usage.user_s,
            usage.system_s,
            usage.switches as f64,
            usage.faults as f64,
        ];
        self.values[place]
            .iter_mut()
            .zip(of_all.into_iter().chain(metrics))
            .for_each(|(values, value)| values.push(value));
        self.runs.push(RunRecord {
            block,
            side: place as u64,
            exit_status: took.status,
            steal_share: None,
            others_share: None,
            core_shared: None,
            is_disturbed: false,
        });
        if self.values.iter().all(|side| side[0].len() as u64 == block + 1) {
            self.conditions.close_window(false);
            if self.is_look_due(block as usize + 1) {
                self.look(block as usize + 1, self.time_share());
                if self.is_decided {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(self.session.interruption.flow())
    }

    /// Returns a run and its metrics, or why it is not good.
    fn run(&mut self, place: usize, block: u64) -> anyhow::Result<Result<(FinishedRun, Vec<f64>), String>> {
        let plan = self.plan;
        let side = &plan.sides[place];
        let build = block as usize;
        let padding = plan.is_environment_random.then(|| self.random.usize(..PADDING));
        let command = side.command(build, &plan.variables, padding)?;
        let at_most = self.longest();
        let took = match plan.scene(side, build).run(command, Some(at_most), &self.session.interruption)? {
            Ok(took) => took,
            Err(failed) => {
                return Ok(Err(format!(
                    "{} {}; last line of its output: {}",
                    side.label,
                    failed.how,
                    failed.last_line()
                )));
            }
        };
        self.longest_s = self.longest_s.max(took.wall_s);
        if let Err(why) = self.check(place, &took) {
            return Ok(Err(why));
        }
        let metrics = plan.metrics.iter().map(|metric| metric.find(&took.output)).collect::<Result<Vec<f64>, _>>();
        Ok(metrics.map(|metrics| (took, metrics)).map_err(|why| format!("{why} (in a run of {})", side.label)))
    }

    fn longest(&self) -> Duration {
        let first = || FIRST.max(self.plan.budget.unwrap_or_default().mul_f64(LONGER));
        let default =
            || if self.longest_s > 0.0 { Duration::from_secs_f64(self.longest_s * LONGER) + MORE } else { first() };
        self.plan.timeout.unwrap_or_else(default)
    }

    /// Compares the exit status and the output of a run with those of the runs before it.
    fn check(&mut self, place: usize, took: &FinishedRun) -> Result<(), String> {
        let sides = &self.plan.sides;
        let other =
            self.statuses.iter().enumerate().find_map(|(other, status)| {
                status.filter(|status| *status != took.status).map(|status| (other, status))
            });
        if let Some((other, status)) = other {
            return Err(format!(
                "{} ended with status {}, and {} with status {status}: they did not do the same work",
                sides[place].label, took.status, sides[other].label
            ));
        }
        self.statuses[place] = Some(took.status);
        let mut hasher = DefaultHasher::new();
        took.output.hash(&mut hasher);
        let hash = hasher.finish();
        let is_new = self.outputs.of_side[place].replace(hash).is_some_and(|before| before != hash);
        self.outputs.varies[place] |= is_new;
        if self.plan.metrics.is_empty() {
            self.outputs.last[place].clone_from(&took.output);
        }
        if !self.plan.same_output {
            return Ok(());
        }
        let first = self.outputs.first.get_or_insert_with(|| took.output.clone());
        if *first == took.output {
            return Ok(());
        }
        let mut lines = first.lines().zip(took.output.lines());
        let differing = lines.find(|(first, line)| first != line);
        let (first, line) = differing.unwrap_or(("a longer or shorter output", ""));
        Err(format!("--same-output: {} printed {line:?} instead of {first:?}", sides[place].label))
    }

    fn time_share(&self) -> f64 {
        let elapsed = self.began.elapsed().as_secs_f64();
        self.budget.map_or(1.0, |budget| (elapsed / budget.as_secs_f64()).min(1.0))
    }

    fn is_look_due(&self, blocks: usize) -> bool {
        let last = self.looks.last().map_or(0.0, |look| look.time_share);
        // Counted runs have one look, at their end.
        self.plan.runs.is_none()
            && blocks >= fewest_blocks()
            && (self.time_share() / LOOK_EVERY).floor() > (last / LOOK_EVERY).floor()
    }

    /// Returns the blocks that the ratios omit.
    fn omitted(&mut self) -> Vec<u64> {
        self.conditions.write(&mut self.runs);
        let disturbed = disturbed_blocks(&self.runs);
        let blocks = self.blocks();
        let left = blocks.saturating_sub(disturbed.len());
        // Where most are disturbed, omitting them would leave nothing to compare.
        let is_omitted = self.plan.disturbed == DisturbedRuns::Omit && left >= fewest_blocks().max(blocks / 2);
        if is_omitted { disturbed } else { Vec::new() }
    }

    /// Returns the number of complete blocks.
    fn blocks(&self) -> usize {
        self.values.iter().map(|side| side[0].len()).min().unwrap_or(0)
    }

    fn look(&mut self, blocks: usize, time_share: f64) {
        let omitted = self.omitted();
        let record = LookRecord {
            elapsed_s: self.began.elapsed().as_secs_f64(),
            time_share,
            blocks: (blocks - omitted.iter().filter(|block| **block < blocks as u64).count()) as u64,
        };
        // A look at the same blocks is the same look.
        if self.looks.last().is_some_and(|last| last.blocks >= record.blocks) {
            self.looks.pop();
        }
        self.looks.push(record);
        let (decisive, least) = (self.decisive(), self.plan.least);
        let judged: Vec<(usize, Judged)> = {
            let all = self.judged(&omitted);
            all.into_iter().filter(|((metric, _), _)| *metric == decisive).map(|((_, over), one)| (over, one)).collect()
        };
        let higher = self.higher_is_better(decisive);
        self.is_decided = !judged.is_empty()
            && judged.len() == self.pairs().count()
            && judged.iter().all(|(_, judged)| judged.is_decided(least, higher, &self.plan.limits));
        for (place, judged) in judged {
            let ends = judged.ratio_ci.map(|ends| format!(" ({})", times_range(ends)));
            self.known[place] = format!("{}{}", times(judged.ratio), ends.unwrap_or_default());
        }
    }

    /// Returns the metric that decides when the comparison ends: the first of the program, or the wall time.
    fn decisive(&self) -> usize {
        if self.plan.metrics.is_empty() { 0 } else { METRICS.len() }
    }

    fn metric(&self, place: usize) -> &str {
        METRICS.get(place).copied().unwrap_or_else(|| &self.plan.metrics[place - METRICS.len()].pattern.name)
    }

    fn higher_is_better(&self, metric: usize) -> bool {
        metric.checked_sub(METRICS.len()).is_some_and(|own| self.plan.metrics[own].higher_is_better)
    }

    /// Returns each side with the one that it is compared with.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.plan.sides.iter().enumerate().filter_map(|(place, side)| Some((place, side.compared_with?)))
    }

    fn comparison(&self, over: usize, under: usize, metric: usize, omitted: &[u64]) -> Option<Comparison> {
        let is_omitted = |block: usize| omitted.binary_search(&(block as u64)).is_ok();
        let differences = differences(&self.values[over][metric], &self.values[under][metric], is_omitted)?;
        (!differences.is_empty()).then_some(Comparison { differences, is_decisive: metric == self.decisive() })
    }

    /// Returns whether the values of a metric are the program's, and not contend's own.
    fn is_seen(&self, over: usize, under: usize, metric: usize) -> bool {
        let median = |side: usize| order::median(&self.values[side][metric]).unwrap_or(0.0);
        let floor = self.memory_floor_kib as f64 * ABOVE_FLOOR;
        self.metric(metric) != "memory_kib" || median(over).min(median(under)) > floor
    }

    fn ended_by(&self) -> EndedBy {
        if self.failure.is_some() {
            EndedBy::Failed
        } else if self.is_decided {
            EndedBy::Decided
        } else if self.session.interruption.is_requested() {
            EndedBy::Interrupted
        } else if self.plan.runs.is_some_and(|runs| self.blocks() as u64 >= runs) {
            EndedBy::Runs
        } else {
            EndedBy::Budget
        }
    }

    fn finish(mut self, watched: Option<anyhow::Result<Watched>>) -> anyhow::Result<Measured> {
        let blocks = self.blocks();
        match &self.failure {
            Some(failure) if blocks == 0 => bail!("{failure}, so nothing was compared"),
            _ if blocks == 0 => return Err(Interrupted.into()),
            _ => {}
        }
        let ended_by = self.ended_by();
        self.memory_floor_kib = self.memory_floor_kib.max(own_memory_kib());
        self.conditions.close_window(true);
        // The budget of the plan is spent at its end only.
        let time_share = match (ended_by, self.plan.runs) {
            (EndedBy::Budget | EndedBy::Runs, _) => 1.0,
            (_, Some(runs)) => (blocks as f64 / runs as f64).min(1.0),
            _ => self.time_share(),
        };
        if ended_by != EndedBy::Decided {
            let was_decided = self.is_decided;
            self.look(blocks, time_share);
            self.is_decided = was_decided;
        }
        let omitted = self.omitted();
        let judged = self.judged(&omitted);
        let rows = self.rows(&judged);
        let too_few = self.too_few(&judged, &omitted);
        let control = self.plan.sides.iter().position(|side| side.is_control);
        let is_of_control = |row: &&AbRow| control.is_some_and(|control| row.side == self.plan.sides[control].label);
        let is_different = |row: &&AbRow| row.verdict.is_some_and(|verdict| verdict.is_difference());
        let control_row = rows.iter().filter(is_of_control).find(is_different);
        let mut failures: Vec<String> = self.failure.iter().cloned().collect();
        let mut exceeded = Vec::new();
        let mut warnings: Vec<Warning> = too_few.iter().map(|few| few.clone().into()).collect();
        warnings.extend(self.warnings(&omitted));
        let is_equal = !rows.iter().filter(|row| row.is_decisive).any(|row| is_different(&row));
        warnings.extend(self.rate_not_compared().filter(|_| is_equal).map(Warning::from));
        warnings.extend(control_row.map(|row| ControlDiffers { change: row.change() }.into()));
        if !self.plan.limits.is_empty() {
            failures.extend(
                control_row.map(|row| format!("--control: the first command differs from itself: {}", row.change())),
            );
            failures.extend(too_few.map(|FewBlocks { blocks, fewest }| {
                format!("--fail-if: {blocks} runs of each command cannot be judged; at least {fewest} are needed")
            }));
            exceeded = self.exceeded(&rows, control);
        }
        let (watched, unwatched) = match watched {
            None => (Vec::new(), None),
            Some(Ok(Ok(sides))) => (sides, None),
            Some(Ok(Err(why))) => (Vec::new(), Some(why)),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
        };
        let plan = self.plan;
        let parameters = AbParameters {
            sides: plan.sides.iter().map(|side| side.record()).collect(),
            planned_s: self.budget.map(|budget| budget.as_secs_f64()),
            least_share: plan.least,
            comparisons: judged.len() as u64,
            warmup: plan.warmup,
            prepare: plan.prepare.clone(),
            cleanup: plan.cleanup.clone(),
            client: plan.client.as_ref().map(|client| client.command.clone()),
            input: plan.input.as_ref().map(|path| path.display().to_string()),
            is_environment_random: plan.is_environment_random,
            disturbed_runs: plan.disturbed,
            looks: self.looks,
            ended_by,
            control_differs: control.map(|_| control_row.is_some()),
            memory_floor_kib: self.memory_floor_kib,
            omitted_blocks: omitted,
            runs: self.runs,
            watched,
            unwatched,
        };
        // A comparison that ended early because all was decided is not cut short.
        let planned = self.budget.filter(|_| ended_by != EndedBy::Decided);
        Ok(Measured { parameters, rows, warnings, failures, exceeded, planned })
    }

    /// Returns the comparisons with a verdict, by metric and side. They guard each other, so that each look judges all.
    fn judged(&self, omitted: &[u64]) -> BTreeMap<(usize, usize), Judged> {
        let metrics = METRICS.len() + self.plan.metrics.len();
        let is_judged = |metric: usize| !EXPLAINING.contains(&self.metric(metric));
        let mut keys = Vec::new();
        let mut comparisons = Vec::new();
        for metric in (0..metrics).filter(|metric| is_judged(*metric)) {
            for (over, under) in self.pairs().filter(|(over, under)| self.is_seen(*over, *under, metric)) {
                if let Some(comparison) = self.comparison(over, under, metric, omitted) {
                    keys.push((metric, over));
                    comparisons.push(comparison);
                }
            }
        }
        keys.into_iter().zip(judge(&comparisons, &looks(&self.looks), self.plan.least)).collect()
    }

    fn rows(&self, judged: &BTreeMap<(usize, usize), Judged>) -> Vec<AbRow> {
        // The program's metrics come first, then the times.
        let own = (METRICS.len()..METRICS.len() + self.plan.metrics.len()).chain(0..METRICS.len());
        let rows = own.flat_map(|metric| (0..self.plan.sides.len()).map(move |side| (metric, side)));
        rows.map(|(metric, side)| self.row(metric, side, judged.get(&(metric, side)))).collect()
    }

    /// Returns how many blocks the decisive metric needs at least, if it has fewer.
    fn too_few(&self, judged: &BTreeMap<(usize, usize), Judged>, omitted: &[u64]) -> Option<FewBlocks> {
        let blocks = self.blocks() - omitted.len();
        let metric = self.decisive();
        let decisive = || judged.iter().filter(|((of, _), _)| *of == metric).map(|(_, one)| one);
        let (higher, is_time) = (self.higher_is_better(metric), METRICS.get(metric) == Some(&"wall_s"));
        let is_open =
            |one: &&Judged| !one.is_shown && one.verdict(self.plan.least, higher, is_time) != Verdict::LessThanLeast;
        // A value of 0 has no ratio, and so no comparison.
        let fewest = match decisive().next() {
            Some(_) => decisive().filter(is_open).map(|one| one.fewest_blocks).max()?,
            None => fewest_blocks(),
        };
        (blocks < fewest).then_some(FewBlocks { blocks, fewest })
    }

    fn row(&self, metric: usize, place: usize, judged: Option<&Judged>) -> AbRow {
        let side = &self.plan.sides[place];
        let values = self.values[place][metric].clone();
        let higher_is_better = self.higher_is_better(metric);
        let name = self.metric(metric).to_owned();
        let is_time = METRICS.get(metric) == Some(&"wall_s");
        let verdict = judged.map(|judged| judged.verdict(self.plan.least, higher_is_better, is_time));
        AbRow {
            is_decisive: metric == self.decisive(),
            higher_is_better,
            runs: values.len() as u64,
            median: order::median(&values).unwrap_or(0.0),
            ci: order::sample_quantile_interval(&values, 0.5, 0.95),
            side: side.label.clone(),
            compared_with: side.compared_with.map(|base| self.plan.sides[base].label.clone()),
            ratio: judged.map(|judged| judged.ratio),
            ratio_ci: judged.and_then(|judged| judged.ratio_ci),
            missing_runs: judged
                .filter(|_| verdict == Some(Verdict::NotJudged))
                .map(|judged| judged.missing_blocks as u64),
            verdict,
            power: judged.and_then(|judged| judged.power),
            metric: name,
            values,
        }
    }

    fn warnings(&self, omitted: &[u64]) -> Vec<Warning> {
        let sides = &self.plan.sides;
        let mut warnings = Vec::new();
        let differing = self.pairs().find(|&(over, under)| {
            let of_side = &self.outputs.of_side;
            !self.outputs.varies[over] && !self.outputs.varies[under] && of_side[over] != of_side[under]
        });
        warnings.extend(differing.map(|(over, under)| {
            let [first, second] = [under, over].map(|place| sides[place].label.clone());
            OutputDiffers { first, second }.into()
        }));
        let shared: Vec<&PathBuf> =
            self.written.iter().filter(|(_, sides)| sides.len() > 1).map(|(path, _)| path).collect();
        if let Some(path) = shared.first() {
            warnings.push(SameFile { path: path.display().to_string(), files: shared.len() }.into());
        }
        const MANY: f64 = 0.1;
        let disturbed = self.runs.iter().filter(|run| run.is_disturbed).count() as f64 / self.runs.len() as f64;
        if disturbed > MANY {
            warnings.push(warnings::DisturbedRuns { share: disturbed, omitted: !omitted.is_empty() }.into());
        }
        warnings
    }

    /// Returns the only rate in the output of all sides, if no metric was named.
    fn rate_not_compared(&self) -> Option<RateNotCompared> {
        let outputs: Vec<&str> = self.outputs.last.iter().map(String::as_str).collect();
        RateNotCompared::of(&outputs).filter(|_| self.plan.metrics.is_empty())
    }

    /// Describes the rows that are beyond a limit.
    fn exceeded(&self, rows: &[AbRow], control: Option<usize>) -> Vec<String> {
        let is_of_control = |row: &AbRow| control.is_some_and(|control| row.side == self.plan.sides[control].label);
        let is_worse = |row: &&AbRow| {
            row.verdict.is_some_and(|verdict| verdict.is_worse())
                && !is_of_control(row)
                && !super::record::is_price_of_work(row, rows)
        };
        let of = |limit: &launch::Limit| {
            let beyond =
                rows.iter().filter(is_worse).filter(|row| row.ratio_ci.is_some_and(|ends| limit.is_exceeded(ends)));
            beyond.map(|row| format!("--fail-if {limit}: {}: {}", row.side, row.change())).collect::<Vec<_>>()
        };
        self.plan.limits.iter().flat_map(of).collect()
    }
}

fn looks(records: &[LookRecord]) -> Vec<Look> {
    records.iter().map(|look| Look { time_share: look.time_share, blocks: look.blocks as f64 }).collect()
}

/// Returns the resident memory of contend, which a program has too until it is executed.
fn own_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}
