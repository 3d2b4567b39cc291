//! `contend ring`: what one switch costs, against every other runtime that is here.

mod contestants;
mod flags;
mod measure;
mod plan;
mod record;
mod show;
mod then;

pub use contestants::Class;
pub use flags::Flags;
pub use measure::run_plan;
pub use plan::{Parameters, Plan};
pub use record::RingRecord;
pub use record::Row;
pub use then::{HOPS as HOPS_2008, table as table_2008};

use crate::cli::{Misuse, Outcome};
use crate::output::{self, Destination};
use crate::session::Session;
use crate::terminal;
use contestants::built_in::CONTESTANTS;
use contestants::{Contestant, Course};
use measure::{Readiness, Workshop};
use plan::Absent;

/// Runs the experiment and delivers its record.
///
/// # Errors
/// Flags that do not fit together; a contestant that failed, after the record was delivered.
pub fn run(flags: &Flags, session: &Session, destination: Destination) -> anyhow::Result<Outcome> {
    if flags.list {
        list(flags, session)?;
        return Ok(Outcome::Done);
    }
    let plan = Plan::of(flags, session)?;
    allow_many_descriptors();
    let progress = session.progress(plan.budget);
    let measured = run_plan(&plan, session, |what| progress.note(what))?;
    drop(progress);
    let parameters = plan.parameters(flags, session, measured.absent, measured.order);
    let record: RingRecord =
        session.record("ring", &session.cpus, plan.budget, parameters, measured.rows, measured.warnings);
    let failures = failures(&record.results);
    let only_limits = record.results.iter().all(|row| row.class == Class::Limit);
    let outcome = destination.deliver(&record)?;
    anyhow::ensure!(failures.is_empty(), "{}", failures.join("\n"));
    let nobody = only_limits && outcome == Outcome::Done;
    anyhow::ensure!(
        !nobody,
        "none of the contestants asked for can run here; `contend ring --list` says what they need"
    );
    Ok(outcome)
}

/// What went wrong, a line each.
pub fn failures(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        if let Some(failure) = &row.failure {
            let line = format!("{} {}: {}", row.contestant, failure.fault.words(), failure.message);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// A ring of pipes takes two descriptors a thread: as many as the hard limit allows.
fn allow_many_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Whoever needs more than there is says so when it fails.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Every contestant, and what those that cannot run here need.
fn list(flags: &Flags, session: &Session) -> anyhow::Result<()> {
    let (known, sources) = plan::known_contestants(flags)?;
    let wanted: Vec<&Contestant> =
        known.iter().map(|contestant| &**contestant).filter(|known| flags.asks_for(&known.name, known.class)).collect();
    let workshop = Workshop::open(&sources)?;
    let found = workshop.prepare(&wanted, true, session.cpus.len(), &session.interruption, |_| ());
    let needs = |contestant: &Contestant| match found.get(&contestant.name) {
        Some(Readiness::Absent(needs)) => Some(needs.clone()),
        _ => None,
    };
    let line = |contestant: &&Contestant| {
        let here = if needs(contestant).is_none() { "yes" } else { "no" };
        vec![contestant.name.clone(), contestant.class.name().to_owned(), contestant.scheduler.clone(), here.to_owned()]
    };
    let table = terminal::table_of_words(&["contestant", "class", "scheduler", "here"], wanted.iter().map(line));
    let absent =
        wanted.iter().filter_map(|known| Some(Absent { contestant: known.name.clone(), needs: needs(known)? }));
    let absent: String = absent.map(|absent| absent.line()).collect();
    Ok(output::print(&(table + &absent))?)
}

/// Runs one built-in contestant in this process and prints its answer, as the programs in other languages do.
///
/// # Errors
/// A name or number that is none; a ring that the system refuses.
pub fn run_alone(flags: &Flags) -> anyhow::Result<bool> {
    let [name, threads, hops] = flags.alone.as_slice() else { return Ok(false) };
    let built_in = CONTESTANTS.iter().find(|built_in| built_in.name == *name);
    let (Some(built_in), Ok(threads), Ok(hops)) = (built_in, threads.parse(), hops.parse()) else {
        return Err(
            Misuse(format!("--alone {name} {threads} {hops}: not a built-in contestant and two numbers")).into()
        );
    };
    allow_many_descriptors();
    let course = Course { threads, hops, arrangement: None, cpus: Vec::new(), seed: 0 };
    output::print(&format!("{}\n", (built_in.run)(&course)?.answer))?;
    Ok(true)
}
