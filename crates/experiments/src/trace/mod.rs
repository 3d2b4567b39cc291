//! `contend trace`: the locks of any program, watched and explained.

mod aggregate;
mod attach;
mod busy_cpus;
mod children;
mod columns;
mod confirm;
mod diagnosis;
mod evidence;
mod export;
mod findings;
mod flags;
mod golang;
mod labels;
mod lines;
mod live;
mod measure;
mod observed;
mod parts;
mod plan;
mod preempted;
mod python_locks;
mod record;
pub mod rules;
mod saved;
mod section;
mod sharing;
mod show;
mod show_cycles;
mod show_words;
mod story;
mod stuck;
mod views;
mod warnings;
mod watched_word;
mod watchpoint;
mod words;
mod words_to_watch;

pub use self::confirm::Confirm;
pub use self::lines::Lines;
pub use self::preempted::{Preempted, SliceExtension};
use self::record::Row;
pub use self::saved::Saved;
use flags::Flags;
use golang::Goroutines;
use harness::{Example, Experiment, Finished, Run, Session, UsageError, Views};
use instruments::warning::Warning;
use live::Lines as LiveLines;
use measure::{Begun, Measured};
use observed::{Judged, Observed};
use plan::{Parameters, Plan};
use std::ops::ControlFlow;

/// The experiment.
pub struct Trace;

impl Experiment for Trace {
    const NAME: &'static str = "trace";
    const METHOD: &'static str = concat!(
        include_str!("method.md"),
        "\n",
        include_str!("confirm/method.md"),
        "\n",
        include_str!("attach/method.md"),
        "\n",
        include_str!("watchpoint/method.md"),
        "\n",
        include_str!("../swap/method.md"),
        "\n",
        include_str!("../what_if/method.md"),
    );
    const EXAMPLES: &'static [Example] = &[
        (
            "contend trace -- ./server --its flags",
            "Show what the threads of a server wait for, until it exits or Ctrl-C",
        ),
        ("contend trace --full --seconds 30 -- ./server", "Time every hold; terminate the server after 30 s"),
        ("contend trace --pid 1234 --seconds 10", "Trace a running process; as root, with each of its futex calls"),
        ("contend trace --confirm -- ./program", "Try to reach each possible deadlock of the program's locks"),
        ("contend trace --swap adaptive,calock -- ./program", "Test whether another lock makes the program faster"),
        (
            "contend trace --what-if cache_lock -- ./program",
            "Predict the gain from shorter critical sections of cache_lock",
        ),
        (
            "contend trace --every 10min --output records/ --keep 100 --pid 1234",
            "Save a record of each 10 minutes of a server, and keep the last 100 files",
        ),
        (
            "contend trace --save evidence.gz -- ./server",
            "Save what was seen; `contend explain evidence.gz` diagnoses it again, on any machine",
        ),
        (
            "contend trace --export perfetto waits.pftrace -- ./server",
            "Export the waits as a timeline for ui.perfetto.dev",
        ),
    ];
    const NEEDS: Option<&'static str> = Some("a program to trace");
    const UNUSED: &'static [&'static str] = &["cpus"];
    const OUTCOMES: &'static [&'static str] = plan::OUTCOMES;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = views::views();

    fn writes_parts(flags: &Flags) -> bool {
        flags.every.is_some()
    }

    fn shares_stdout(flags: &Flags) -> bool {
        !flags.launched.program.is_empty()
    }

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let cpus = run.session.cpus.clone();
        let (budget, keep) = (run.session.seconds, flags.keep.map(|keep| keep as usize));
        let (interim, own_cpus) = (run.interim(), cpus.clone());
        let deliver = |measured: Measured| {
            let Judged { parameters, rows, warnings } = measured.seen.judged();
            let mut finished = Finished::measured(parameters, rows, warnings, own_cpus.clone(), budget);
            finished.keep = keep;
            interim.map_or(Ok(()), |interim| interim(finished.without(MOOT).erased()?))
        };
        let mut lines = LiveLines::of(run.session, run.shared, &deliver);
        let targets = match (&flags.pid[..], &flags.cgroup, &flags.container) {
            (_, Some(path), _) => Some(attach::Targets::of_cgroup(path)?),
            (_, _, Some(named)) => Some(attach::Targets::of_container(named)?),
            ([], None, None) => None,
            (pids, ..) => Some(attach::Targets::of_pids(pids)?),
        };
        let mut finished = if let Some(targets) = targets {
            let (exports, save) = (plan::exports(flags)?, plan::save(flags)?);
            let pids: Vec<u32> = targets.alive().map(|(_, target)| target.pid).collect();
            if !flags.word.is_empty() && pids.len() > 1 {
                return Err(UsageError("--word: words are watched in one process; name one with --pid".into()).into());
            }
            let words = watchpoint::Watch::attach(targets.first().pid, &flags.words()?, &run.session.interruption)?;
            let room = measure::room_for(&exports);
            let mut goroutines = Goroutines::attach(&mut lines, &pids, room);
            let plan = attach::Plan {
                targets,
                room,
                full: flags.full,
                budget: run.session.seconds,
                interval: flags.interval,
                every: flags.every,
                deadline: flags.deadline,
                all: flags.all,
                watches_words: !flags.word.is_empty(),
            };
            let children = children::Children::begin();
            let mut measured = attach::run(plan, run.session, &mut goroutines)?;
            let hungry = children.finish(&measured.seen.parameters);
            let unwatched = hungry.iter().flat_map(|hungry| &hungry.children).map(|child| child.pid);
            measured.seen.evidence.unwatched = unwatched.collect();
            measured.seen.warnings.extend(hungry.map(Warning::from));
            measured.seen.add_words(words.finish());
            goroutines.finish(&mut measured);
            let Judged { parameters, rows, warnings } = measured.seen.judged();
            lines.snapshot(&rows, parameters.verdict_reason.as_deref());
            let mut finished = Finished::measured(parameters, rows, warnings, cpus, budget);
            let exported = |(form, file)| (file, Ok(export::content(form, &measured.waits)));
            finished.files.extend(exports.into_iter().map(exported));
            finished.files.extend(save.map(|file| (file, saved(run.session, measured.seen))));
            finished
        } else {
            let (plan, save) = (Plan::of(flags, run.session)?, plan::save(flags)?);
            let measured = launch(&plan, run, &mut lines)?;
            let Judged { parameters, rows, warnings } = measured.seen.judged();
            lines.snapshot(&rows, parameters.verdict_reason.as_deref());
            let mut finished = Finished::measured(parameters, rows, warnings, cpus, plan.budget);
            let exported = |(form, file)| (file, Ok(export::content(form, &measured.waits)));
            finished.program_status = measured.status;
            finished.files.extend(plan.exports.into_iter().map(exported));
            finished.files.extend(save.map(|file| (file, saved(run.session, measured.seen))));
            finished
        };
        // The program itself is the load, and the trace shows the effects of the machine on it.
        finished.failures.extend(lines.failure);
        finished.keep = keep;
        Ok(finished.without(MOOT))
    }
}

/// Returns the file of `--save`.
fn saved(session: &Session, seen: Observed) -> anyhow::Result<Vec<u8>> {
    Saved::new(harness::environment(session), seen).content()
}

/// Starts the program, and traces it from inside, or from outside if that shows more of it.
fn launch(plan: &Plan, run: &Run<'_>, lines: &mut LiveLines<'_>) -> anyhow::Result<Measured> {
    let session = run.session;
    let room = measure::room_for(&plan.exports);
    if let Some(why) = plan.program.no_library {
        let started = attach::Started::start(plan, why, session)?;
        let mut goroutines = Goroutines::begin(lines, started.pid(), room);
        let mut measured = started.watch(plan, session, &mut goroutines)?;
        goroutines.finish(&mut measured);
        return Ok(measured);
    }
    let record = (!plan.program.calls_locks).then(attach::Record::open).filter(|record| record.refusal().is_none());
    let switches = record.is_none().then(|| measure::switches(plan));
    let mut begun = Begun::start(plan, session, &run.clock(), switches)?;
    // A program that could call locks of the C library, and calls none, has others, if any.
    let record = record.or_else(|| begun.is_without_calls(session).then(attach::Record::open));
    let record = record.filter(|record| record.refusal().is_none());
    let mut goroutines = Goroutines::begin(lines, begun.running.pid(), room);
    let begun = match record {
        Some(record) => {
            begun.end_switches();
            attach::watch_until_noted(begun, record, plan, session, &mut goroutines)?
        }
        None => ControlFlow::Continue(begun),
    };
    let mut measured = match begun {
        ControlFlow::Break(measured) => measured,
        ControlFlow::Continue(begun) => begun.watch(plan, session, &mut goroutines)?,
    };
    goroutines.finish(&mut measured);
    Ok(measured)
}

/// Warnings of the machine that do not apply.
const MOOT: [&str; 2] = ["other_load", "autogroup"];
