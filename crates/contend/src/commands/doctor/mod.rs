//! `contend doctor`: the events, privileges and tools that the experiments need, each tried on this machine.

mod checks;
mod latency;

use crate::output::Destination;
use clap::Args;
use harness::{Outcome, SharedFlags};
use instruments::warning::Warning;
use serde::Serialize;
use terminal::{Page, escaped, wrapped};

/// Check what can be measured here; print the command that grants the rest
///
/// Each check tries what an experiment would do: it opens the kernel event, asks for the priority, locks the memory. A
/// check that is not met names the experiments that it affects, and the command that grants it. The latency settings are
/// those of the kernel and the processor that let threads wait, each with its cost and the command that changes it.
/// Checks of the kernel need the user that will measure: run it as that user.
#[derive(Args, Clone, Debug)]
pub struct Flags {}

/// Runs every check.
///
/// # Errors
/// The output cannot be written.
pub fn run(shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let destination = Destination::of_view(shared)?;
    let found = checks::all(shared.archive.as_deref())?;
    destination.present(&found, &found, |page| text(&found, page))?;
    Ok(Outcome::Done)
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The experiments have it.
    Met,
    /// They do not have it: it is refused, absent, or set in another way.
    Missing,
    /// The experiments do not need another setting, but with this one threads wait longer.
    RaisesLatency,
    /// It cannot be found out here.
    Unknown,
    /// No experiment uses it.
    NotNeeded,
}

/// One property of the machine, or one permission: its effect, and the command that changes it.
#[derive(Clone, Debug, Serialize)]
struct Check {
    group: &'static str,
    name: &'static str,
    state: State,
    /// The observation.
    found: String,
    /// The commands that measure less, or less exactly, without it.
    affects: &'static [&'static str],
    /// The effect of the setting on latencies.
    cost: Option<&'static str>,
    /// The command that grants it, or the change that provides it.
    remedy: Option<String>,
}

/// Creates a check that is met.
fn met(group: &'static str, name: &'static str, found: impl Into<String>) -> Check {
    Check { group, name, state: State::Met, found: found.into(), affects: &[], cost: None, remedy: None }
}

/// Creates a check whose result cannot be found out here.
fn unknown(group: &'static str, name: &'static str, found: impl Into<String>) -> Check {
    Check { state: State::Unknown, ..met(group, name, found) }
}

impl Check {
    /// Makes it a check that is not met.
    fn missing(self, affects: &'static [&'static str], remedy: impl Into<String>) -> Self {
        Self { state: State::Missing, affects, remedy: Some(remedy.into()), ..self }
    }
}

/// Creates a check that is not met, with the words of a warning.
fn of_warning(
    (group, name): (&'static str, &'static str),
    warning: &Warning,
    affects: &'static [&'static str],
) -> Check {
    met(group, name, warning.message()).missing(affects, warning.remedy())
}

/// Returns the checks by their groups: a line each, and below it the effect and the command that grants it.
fn text(checks: &[Check], page: &Page) -> String {
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let (met, missing) = (count(State::Met), count(State::Missing));
    let raising = match count(State::RaisesLatency) {
        0 => String::new(),
        1 => "; 1 setting raises latency (-)".to_owned(),
        settings => format!("; {settings} settings raise latency (-)"),
    };
    let mut lines = format!("{met} of {} checks are met here (+), {missing} are not (!){raising}\n", met + missing);
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            lines.push_str(&format!("\n{group}\n"));
        }
        let indent = " ".repeat(width + 6);
        let first = format!("  {} {:<width$} ", mark(check.state), check.name);
        lines.push_str(&wrapped(&first, &indent, &escaped(&check.found), page));
        let more = [
            (!check.affects.is_empty()).then(|| format!("affects: {}", check.affects.join(", "))),
            check.cost.filter(|_| check.state != State::Met).map(|cost| format!("cost: {cost}")),
            check.remedy.as_ref().map(|remedy| format!("remedy: {remedy}")),
        ];
        for line in more.into_iter().flatten() {
            lines.push_str(&wrapped(&indent, &indent, &escaped(&line), page));
        }
    }
    lines
}

/// Returns the letter of a state.
fn mark(state: State) -> char {
    match state {
        State::Met => '+',
        State::Missing => '!',
        State::RaisesLatency => '-',
        State::Unknown => '?',
        State::NotNeeded => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, state: State) -> Check {
        let remedy = (state == State::Missing).then(|| "sudo sysctl kernel.x=1".to_owned());
        let (found, cost) = ("Permission denied".into(), None);
        Check { group: "kernel events", name, state, found, affects: &["noise"], cost, remedy }
    }

    #[test]
    fn missing_checks_have_effect_and_remedy() {
        let checks = [check("all switches", State::Met), check("interrupts", State::Missing)];
        let found = text(&checks, &Page::plain());
        assert!(found.starts_with("1 of 2 checks are met here (+), 1 are not (!)\n\nkernel events\n"), "{found}");
        assert!(found.contains("\n  + all switches ") && found.contains("\n  ! interrupts "), "{found}");
        assert!(
            found.contains("affects: noise")
                && !found.contains("cost:")
                && found.contains("remedy: sudo sysctl kernel.x=1"),
            "{found}"
        );
    }

    #[test]
    fn setting_that_raises_latency_has_its_cost() {
        let setting = Check { cost: Some("a thread waits"), ..check("idle states", State::RaisesLatency) };
        let found = text(std::slice::from_ref(&setting), &Page::plain());
        assert!(found.starts_with("0 of 0 checks are met here (+), 0 are not (!); 1 setting raises latency (-)\n"));
        assert!(found.contains("\n  - idle states ") && found.contains("  cost: a thread waits\n"), "{found}");
        assert!(text(&[setting.clone(), setting], &Page::plain()).contains("; 2 settings raise latency (-)\n"));
    }
}
