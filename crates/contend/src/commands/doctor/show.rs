//! The checks on a terminal: a line each, and below it the effect and the command that grants it.

use super::check::{Check, State};
use terminal::{Page, escaped, wrapped};

/// Returns the checks, by their groups.
pub fn text(checks: &[Check], page: &Page) -> String {
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
