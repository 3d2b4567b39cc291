//! The warnings of a record as text, the most serious first. The two most serious of those that change a value or limit a
//! conclusion are printed, each with its remedy; the others are counted, with the command that prints them.

use instruments::warning::{Severity, Warning};
use terminal::{Page, counted, escaped, without_error_numbers};

/// The warnings that are printed.
#[derive(Clone, Copy)]
pub enum Printed<'a> {
    All,
    /// Two at most, and no advice; the text is the command that prints the others.
    Few(&'a str),
}

const FEW: usize = 2;

/// Returns the lines, folded to the page.
///
/// Warnings of one kind with the same remedy have it once.
pub fn text<'a>(warnings: impl IntoIterator<Item = &'a Warning>, printed: Printed<'_>, page: &Page) -> String {
    let mut warnings: Vec<&Warning> = warnings.into_iter().collect();
    warnings.sort_by_key(|warning| warning.severity());
    let is_minor = |warning: &&Warning| warning.severity() == Severity::Advice;
    let count = match printed {
        Printed::All => warnings.len(),
        Printed::Few(_) => warnings.iter().filter(|warning| !is_minor(warning)).count().min(FEW),
    };
    let left = warnings.split_off(count);
    let mut lines = Vec::new();
    for group in groups(&warnings) {
        for warning in &group {
            lines.extend(folded("warning:", &format!("{} [{}]", warning.message(), warning.code()), page));
        }
        lines.extend(folded("        ", &format!("remedy: {}", group[0].remedy()), page));
    }
    if let Printed::Few(how) = printed
        && !left.is_empty()
    {
        let what = if left.iter().all(is_minor) { "note" } else { "warning" };
        let what = if warnings.is_empty() { what.to_owned() } else { format!("more {what}") };
        lines.extend(folded("        ", &format!("{}: {how}", counted(left.len(), &what)), page));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Groups the warnings of one kind with one remedy, each group in the place of its first.
fn groups<'a>(warnings: &[&'a Warning]) -> Vec<Vec<&'a Warning>> {
    let mut groups: Vec<Vec<&Warning>> = Vec::new();
    for &warning in warnings {
        let is_alike =
            |group: &&mut Vec<&Warning>| group[0].code() == warning.code() && group[0].remedy() == warning.remedy();
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(warning),
            None => groups.push(vec![warning]),
        }
    }
    groups
}

fn folded(first: &str, text: &str, page: &Page) -> Vec<String> {
    terminal::wrapped(first, "        ", &escaped(&without_error_numbers(text)), page)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::warning::{Autogroup, LeftOut, OtherLoad, Steal};

    fn left_out(what: &str) -> Warning {
        LeftOut { what: what.into(), reason: "it is not here".into() }.into()
    }

    fn many() -> Vec<Warning> {
        let first = [Autogroup.into(), left_out("one"), Steal { share: 0.1 }.into(), left_out("two")];
        first.into_iter().chain([OtherLoad { share: 0.3 }.into()]).collect()
    }

    #[test]
    fn most_serious_warnings_are_printed_and_others_are_counted() {
        let text = text(&many(), Printed::Few("contend history show 6b94835332 --all"), &Page::plain());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches("warning:").count(), 2, "{text}");
        assert!(words.contains("[steal]") && words.contains("[other_load]"), "{text}");
        assert!(words.ends_with("3 more warnings: contend history show 6b94835332 --all"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let two = [left_out("one"), left_out("two")];
        assert_eq!(super::text(&two, Printed::Few(""), &Page::plain()).matches(two[0].remedy()).count(), 1);
    }

    #[test]
    fn every_warning_is_printed_with_all() {
        let (many, page) = (many(), Page::plain());
        let text = text(&many, Printed::All, &page);
        for warning in &many {
            assert!(text.contains(&format!("[{}]", warning.code())), "{text}");
        }
        assert!(text.contains("kernel.sched_autogroup_enabled=0") && !text.contains("more"), "{text}");
    }

    #[test]
    fn advice_without_warnings_is_counted() {
        let text = text(&[Autogroup.into()], Printed::Few("--format json prints them"), &Page::plain());
        assert_eq!(text.trim(), "1 note: --format json prints them");
        assert!(super::text([], Printed::Few(""), &Page::plain()).is_empty());
    }
}
