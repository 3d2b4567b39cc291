//! What a person would say.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Finding, Origin, Unit};
use terminal::percent;

/// Of the CPU whose core was shared most.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let shared = rows.iter().filter_map(|(place, row)| Some((*place, *row, row.shared_share?)));
    let Some((place, row, share)) = shared.max_by(|a, b| a.2.total_cmp(&b.2)) else { return Vec::new() };
    let source = Origin::of("core", place, format!("CPU {}", row.cpu), "shared_share");
    vec![Finding::new("core_shared", said(row), Unit::Share, Estimate::new(share, None), source)]
}

/// How often, and what it costs; without a full stop.
pub fn said(row: &Row) -> String {
    let Some(share) = row.shared_share else {
        return format!("Whether somebody shared the core of CPU {} could not be told", row.cpu);
    };
    let costs = row.cost_width.zip(row.cost_latency).map_or_else(String::new, |(width, latency)| {
        format!(
            "; code that is limited by width took {width:.2} times as long then, code limited by latency {latency:.2}"
        )
    });
    if share == 0.0 {
        return format!("Nobody was seen to share the core of CPU {}", row.cpu);
    }
    // Shares are told by the best that was seen; if that was a shared core's, more of them were shared.
    let bound = if row.doubt.is_some() { "at least " } else { "" };
    format!("Somebody shared the core of CPU {} for {bound}{} of the time{costs}", row.cpu, percent(share))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn the_core_that_was_shared_most_is_spoken_of() {
        let (quiet, busy) = (row(0, Some(0.01)), row(1, Some(0.34)));
        let found = findings(&[(0, &quiet), (1, &busy)]);
        assert_eq!(
            found[0].words,
            "Somebody shared the core of CPU 1 for 34.0 % of the time; \
             code that is limited by width took 1.75 times as long then, code limited by latency 1.00"
        );
        assert_eq!((found.len(), found[0].source.row), (1, 1));
        assert!(said(&row(3, None)).ends_with("could not be told"));
    }

    #[test]
    fn a_share_by_a_doubtful_best_is_a_lower_bound() {
        let doubted = Row { doubt: Some("even the best probes differ from each other".into()), ..row(1, Some(0.05)) };
        assert!(said(&doubted).contains("for at least 5.0 % of the time"), "{}", said(&doubted));
        assert!(!said(&row(1, Some(0.05))).contains("at least"));
    }

    #[test]
    fn nobody_who_was_seen_is_nobody() {
        assert_eq!(said(&row(2, Some(0.0))), "Nobody was seen to share the core of CPU 2");
    }
}
