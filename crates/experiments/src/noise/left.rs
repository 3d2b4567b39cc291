//! What a process that wants all of the CPU really gets: of its time, and of its core's width in that time.

use super::record::Row;
use terminal::percent;

/// A line a scenario; nothing where nobody looked at the core.
pub fn text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let width = percent(1.0 - row.width_lost_share?);
        let shared = row.core_shared_share.map_or_else(String::new, percent);
        Some(vec![row.scenario.clone(), percent(1.0 - row.lost_share), width, shared])
    };
    let lines: Vec<Vec<String>> = rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let header = ["A process would get", "of the time", "of the core's width in it", "core shared"];
    "\n".to_owned() + &terminal::table(&header, lines)
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn time_and_width_are_told_apart() {
        let probed = Row { core_shared_share: Some(0.25), width_lost_share: Some(0.125), ..row("quiet") };
        let text = text(&[probed]);
        let words: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["quiet", "99.1", "%", "87.5", "%", "25.0", "%"]);
    }

    #[test]
    fn where_nobody_looked_nothing_is_said() {
        assert_eq!(text(&[row("quiet")]), "");
    }
}
