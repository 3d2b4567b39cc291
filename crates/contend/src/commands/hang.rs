//! `contend hang`: why processes hang, by two looks from outside.

use crate::output::Destination;
use blame::Allowance;
use clap::{Args, ValueHint};
use hang::{APART, Class, Explanation, Finding, Looker, Snapshot, explain, words};
use harness::{Interruption, Outcome, SharedFlags};
use serde::Serialize;
use std::thread::sleep;
use std::time::Duration;

/// Explain why a process hangs: the cycle, the threads, the lines
///
/// Looks twice at the process from outside, half a second apart, and at the processes that its threads wait for. The first
/// line is the verdict: Deadlock, Hang, Not hung or Unknown. Then come the threads with what they wait for and where, and
/// what could not be seen. Nothing is written into the process, and it runs on.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Process to look at; several that wait for each other
    #[arg(value_name = "PID", required = true, num_args = 1..)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304), value_hint = ValueHint::Other)]
    pub pid: Vec<u32>,
}

/// The answer, with the evidence that it is of.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    class: Class,
    text: String,
    explanation: &'a Explanation,
    snapshot: &'a Snapshot,
}

const SCHEMA: &str = "contend/hang/1";
/// The time for all names; stacks that have no name by then are shown without.
const PATIENCE: Duration = Duration::from_secs(8);

/// Looks at the processes and explains them.
///
/// # Errors
/// The output cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let destination = Destination::of_view(shared)?;
    let interruption = Interruption::catch()?;
    let (explanation, snapshot) = explained(&flags.pid);
    if interruption.is_requested() {
        return Ok(Outcome::Interrupted);
    }
    let text = text(&explanation);
    let (schema, class) = (SCHEMA, explanation.class);
    let answer =
        Answer { schema, class, text: words::sentence(&explanation), explanation: &explanation, snapshot: &snapshot };
    let rows: Vec<_> = snapshot.processes.iter().flat_map(|process| &process.threads).collect();
    destination.present(&answer, &rows, |_| text)?;
    Ok(match explanation.finding {
        Finding::Missing { .. } | Finding::Refused { .. } => Outcome::ProgramFailed(1),
        _ => Outcome::Done,
    })
}

/// Looks twice at processes, and explains what was seen.
pub fn explained(pids: &[u32]) -> (Explanation, Snapshot) {
    let allowance = Allowance::default();
    allowance.end_within(PATIENCE);
    let mut looker = Looker::within(&allowance).asking();
    looker.look(pids);
    sleep(APART);
    let snapshot = looker.look(pids);
    (explain(&snapshot), snapshot)
}

/// Returns the explanation: the sentence, and a line for each thread.
pub fn text(explanation: &Explanation) -> String {
    let lines = words::lines(explanation).into_iter().map(|line| format!("  {line}\n"));
    words::sentence(explanation) + "\n" + &lines.collect::<String>()
}
