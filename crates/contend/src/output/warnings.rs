//! The warnings of a record as text, the most serious first. A warning that changes a value or limits a conclusion is
//! always printed, with its remedy; advice is counted, with the command that prints it.

use instruments::warning::{Severity, Warning};
use terminal::{Page, counted, escaped, without_error_numbers};

/// Whether advice is printed.
#[derive(Clone, Copy)]
pub enum Advice<'a> {
    Printed,
    /// Advice is only counted; the text is the command that prints it.
    Counted(&'a str),
}

/// Returns the lines, folded to the page.
///
/// Warnings of one kind with the same remedy have it once.
pub fn text<'a>(warnings: impl IntoIterator<Item = &'a Warning>, advice: Advice<'_>, page: &Page) -> String {
    let (minor, mut printed): (Vec<&Warning>, Vec<&Warning>) = warnings
        .into_iter()
        .partition(|warning| matches!(advice, Advice::Counted(_)) && warning.severity() == Severity::Advice);
    printed.sort_by_key(|warning| warning.severity());
    let mut lines = Vec::new();
    for group in groups(&printed) {
        for warning in &group {
            lines.extend(folded("warning:", &format!("{} [{}]", warning.message(), warning.code()), page));
        }
        lines.extend(folded("        ", &format!("remedy: {}", group[0].remedy()), page));
    }
    if let Advice::Counted(how) = advice
        && !minor.is_empty()
    {
        let count = if printed.is_empty() { counted(minor.len(), "note") } else { counted(minor.len(), "more note") };
        lines.extend(folded("        ", &format!("{count}: {how}"), page));
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
    fn limiting_warnings_are_printed_with_their_remedies() {
        let many = many();
        let text = text(&many, Advice::Counted("contend history show 6b94835332 --all"), &Page::plain());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let places: Vec<usize> = ["[steal]", "[other_load]", "one was not measured", "two was not measured"]
            .iter()
            .map(|part| words.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
            .collect();
        assert!(places.is_sorted(), "{text}");
        for warning in many.iter().filter(|warning| warning.severity() != Severity::Advice) {
            assert_eq!(words.matches(warning.remedy()).count(), 1, "{text}");
        }
        assert!(!text.contains("[autogroup]") && words.ends_with("1 more note: contend history show 6b94835332 --all"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn advice_is_printed_with_all() {
        let (many, page) = (many(), Page::plain());
        let text = text(&many, Advice::Printed, &page);
        assert!(text.contains("[autogroup]") && text.contains("kernel.sched_autogroup_enabled=0"), "{text}");
        assert!(!text.contains("note"), "{text}");
    }

    #[test]
    fn advice_without_warnings_is_counted() {
        let text = text(&[Autogroup.into()], Advice::Counted("--format json prints them"), &Page::plain());
        assert_eq!(text.trim(), "1 note: --format json prints them");
        assert!(super::text([], Advice::Counted(""), &Page::plain()).is_empty());
    }
}
