//! What a process that wants all of the CPU really gets: of its time, and of its core's width in that time.

use super::record::Row;
use terminal::percent;

/// A line a scenario; nothing where nobody looked at the core.
pub fn text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let width = percent(1.0 - row.width_lost_share?);
        Some(vec![row.scenario.clone(), percent(1.0 - row.lost_share), width, shared(row)])
    };
    let lines: Vec<Vec<String>> = rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let header = ["A process would get", "CPU time", "issue width", "core shared (95 % CI)"];
    "\n".to_owned() + &terminal::table(&header, lines)
}

/// `25.0 % (20.1–30.3)`
fn shared(row: &Row) -> String {
    let bare = |share: f64| percent(share).trim_end_matches(" %").to_owned();
    let ends =
        row.core_shared_share_ci.map_or_else(String::new, |ends| format!(" ({}–{})", bare(ends.low), bare(ends.high)));
    row.core_shared_share.map_or_else(String::new, |share| percent(share) + &ends)
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use instruments::statistics::Interval;

    #[test]
    fn time_and_width_are_told_apart() {
        let probed = Row { core_shared_share: Some(0.25), width_lost_share: Some(0.125), ..row("quiet") };
        let text = text(&[probed]);
        let words: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["quiet", "99.1", "%", "87.5", "%", "25.0", "%"]);
    }

    #[test]
    fn how_often_the_core_was_shared_has_its_interval_within_80_columns() {
        let ends = Some(Interval::new(0.101, 0.999_12));
        let longest = "competitor and rescheduler";
        let probed = Row {
            core_shared_share: Some(0.25),
            core_shared_share_ci: ends,
            width_lost_share: Some(0.125),
            ..row(longest)
        };
        let text = text(&[probed]);
        assert!(text.ends_with("25.0 % (10.1–99.91)\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn where_nobody_looked_nothing_is_said() {
        assert_eq!(text(&[row("quiet")]), "");
    }
}
