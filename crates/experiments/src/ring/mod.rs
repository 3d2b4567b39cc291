//! `contend ring`: the cost of a switch, compared with every other installed runtime.

mod contestants;
mod findings;
mod flags;
mod measure;
mod plan;
mod record;
mod show;

use self::record::{Row, failures};
use contestants::Contestant;
use flags::Flags;
use harness::{
    Example, Experiment, Finished, Progress, Run, Session, SharedFlags, SmtMonitor, SurveyPart, UsageError, Views,
    report_to,
};
use loops::ring::CONTESTANTS;
use loops::ring::{Class, RingSpec};
use measure::{BuildDir, Readiness};
use plan::{Absent, Parameters, Plan};

/// The experiment.
pub struct Ring;

impl Experiment for Ring {
    const NAME: &'static str = "ring";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend ring --list", "List the contestants that can run here"),
        ("contend ring --class mailbox --hops 100k", "Compare the contestants of one class, with 100,000 hops each"),
        ("contend ring --contestant rust-optimum,rust-futex --threads 2,503", "Compare two contestants in two rings"),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart {
        weight: 20,
        flags: "--contestant rust-optimum,rust-fifo,rust-async-fifo,rust-corosensei,tokio-notify,rust-futex,\
                rust-pthread-condvar,c-protothreads-optimum,c-protothreads-pessimum,c-pthread-mutex \
                --large 0 --placement pinned --no-memory",
    });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        metrics: findings::metrics,
        findings: findings::findings,
        then_and_now: findings::then_and_now,
        costs: Some(findings::costs),
        next: |_| Some(report_to("ring.html")),
        ..Views::of(show::show, show::section)
    };

    fn answer(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Option<String>> {
        if flags.list {
            return list(flags, &Session::open(shared)?).map(Some);
        }
        answer_alone(flags)
    }

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        allow_many_descriptors();
        let progress = run.progress(plan.budget);
        let monitor = SmtMonitor::open(run.session, run.clock().clock);
        let measured = measure::run_plan(&plan, run.session, monitor, &progress)?;
        let parameters = plan.parameters(flags, run.session, measured.absent, measured.order);
        let mut failed = failures(&measured.rows);
        let only_limits = measured.rows.iter().all(|row| row.class == Class::Limit);
        if failed.is_empty() && only_limits && !run.session.interruption.is_requested() {
            let help = "`contend ring --list` says what they need";
            failed.push(format!("none of the selected contestants can run here; {help}"));
        }
        let cpus = run.session.cpus.clone();
        let mut finished = Finished::measured(parameters, measured.rows, measured.warnings, cpus, Some(plan.budget));
        finished.failures = failed;
        Ok(finished)
    }
}

/// Raises the limit of descriptors to the hard limit: a ring of pipes needs two per thread.
fn allow_many_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // A contestant that needs more fails with a message about it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Lists every contestant, and the requirements of those that cannot run here.
fn list(flags: &Flags, session: &Session) -> anyhow::Result<String> {
    let (known, sources) = plan::known_contestants(flags)?;
    let wanted: Vec<&Contestant> =
        known.iter().map(|contestant| &**contestant).filter(|known| flags.asks_for(&known.name, known.class)).collect();
    let build_dir = BuildDir::open(&sources)?;
    let found = build_dir.prepare(
        &wanted,
        true,
        flags.timeout,
        session.cpus.len(),
        (&session.interruption, None),
        &Progress::hidden(),
    );
    let needs = |contestant: &Contestant| match found.get(&contestant.name) {
        Some(Readiness::Absent(needs) | Readiness::NotBuilt(needs)) => Some(needs.clone()),
        _ => None,
    };
    let line = |contestant: &&Contestant| {
        let is_available = if needs(contestant).is_none() { "yes" } else { "no" };
        vec![
            contestant.name.clone(),
            contestant.class.name().to_owned(),
            contestant.scheduler.clone(),
            is_available.to_owned(),
        ]
    };
    let table = terminal::table_of_words(&["contestant", "class", "scheduler", "here"], wanted.iter().map(line));
    let absent =
        wanted.iter().filter_map(|known| Some(Absent { contestant: known.name.clone(), needs: needs(known)? }));
    let absent: String = absent.map(|absent| absent.line()).collect();
    Ok(table + &absent)
}

/// Runs one built-in contestant in this process; returns its answer, as the programs in other languages print it.
fn answer_alone(flags: &Flags) -> anyhow::Result<Option<String>> {
    let [name, threads, hops] = flags.alone.as_slice() else { return Ok(None) };
    let built_in = CONTESTANTS.iter().find(|built_in| built_in.name == *name);
    let (Some(built_in), Ok(threads), Ok(hops)) = (built_in, threads.parse(), hops.parse()) else {
        return Err(
            UsageError(format!("--alone {name} {threads} {hops}: not a built-in contestant and two numbers")).into()
        );
    };
    allow_many_descriptors();
    let spec = RingSpec { threads, hops, arrangement: None, cpus: Vec::new(), seed: 0 };
    Ok(Some(format!("{}\n", (built_in.run)(&spec)?.answer)))
}
