//! The warnings of a record on stderr: three lines at most, the most serious first. The record has all, with what can
//! be done about each.

use instruments::warning::Warning;
use terminal::{Page, escaped};

const MOST_LINES: usize = 3;

/// The lines, folded to the page.
pub fn calm<'a>(warnings: impl IntoIterator<Item = &'a Warning>, page: &Page) -> String {
    let mut warnings: Vec<&Warning> = warnings.into_iter().collect();
    warnings.sort_by_key(|warning| warning.severity());
    let (mut lines, mut said): (Vec<String>, usize) = (Vec::new(), 0);
    for warning in &warnings {
        let next = folded("warning:", &format!("{} [{}]", warning.message(), warning.code()), page);
        // A line is left for how many more there are.
        let room = MOST_LINES - usize::from(said + 1 < warnings.len());
        if said > 0 && lines.len() + next.len() > room {
            break;
        }
        lines.extend(next.into_iter().take(room));
        said += 1;
    }
    if let [warning] = warnings[..] {
        let remedy = folded("        ", warning.remedy(), page);
        lines.extend(remedy.into_iter().take(MOST_LINES - lines.len()));
    }
    if said < warnings.len() {
        let codes: Vec<&str> = warnings[said..].iter().map(|warning| warning.code()).collect();
        let rest =
            format!("         {} more in the record, with what to do: {}", codes.len(), distinct(codes).join(", "));
        lines.push(page.cut(&escaped(&rest)));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn folded(first: &str, text: &str, page: &Page) -> Vec<String> {
    terminal::wrapped(first, "        ", &escaped(text), page).lines().map(str::to_owned).collect()
}

fn distinct(codes: Vec<&str>) -> Vec<&str> {
    codes.into_iter().fold(Vec::new(), |mut seen, code| {
        if !seen.contains(&code) {
            seen.push(code);
        }
        seen
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::warning::{Autogroup, LeftOut, OtherLoad, Steal};

    fn left_out(what: &str) -> Warning {
        LeftOut { what: what.into(), reason: "it is not here".into() }.into()
    }

    #[test]
    fn three_lines_at_most_the_most_serious_first_and_whole_words() {
        let many: Vec<Warning> = [Autogroup.into(), left_out("one"), Steal { share: 0.1 }.into(), left_out("two")]
            .into_iter()
            .chain([OtherLoad { share: 0.3 }.into()])
            .collect();
        let text = calm(&many, &Page::plain());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("[steal]") && lines[1].contains("[other_load]"), "{text}");
        assert!(lines[2].contains("3 more in the record") && lines[2].contains("left_out, autogroup"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_lone_one_has_its_remedy() {
        let text = calm(&[OtherLoad { share: 0.3 }.into()], &Page::plain());
        assert!(text.lines().count() == 2 && text.contains("--cpus"), "{text}");
    }

    #[test]
    fn a_long_one_leaves_room_for_the_number_of_the_others() {
        let long = left_out(&"word ".repeat(100));
        let text = calm(&[long.clone(), Steal { share: 0.1 }.into(), Autogroup.into()], &Page::plain());
        let said = "2 more in the record, with what to do: left_out, autogroup";
        assert!(text.lines().count() == 2 && text.contains("[steal]") && text.contains(said), "{text}");
        let first = calm(&[long, Autogroup.into()], &Page::plain());
        assert!(first.lines().count() == 3 && first.contains("1 more"), "{first}");
        assert!(calm([], &Page::plain()).is_empty());
    }
}
