//! Watched words on a terminal and a page.

use super::record::{Row, RowKind};
use super::watched_word::WatchedWord;
use record::{Figure, Picture, Table, Unit, optional};
use terminal::{count, nanoseconds, percent};

/// The sum of holds whose median is below this multiple of the access cost is too long by more than some 10 %.
const EXACT_FROM: f64 = 4.0;

/// Returns a sentence for each watched word.
pub fn sentences(rows: &[Row]) -> Vec<String> {
    words(rows).flat_map(|(row, word)| [usage(row, word), Some(conditions(word))]).flatten().collect()
}

fn words(rows: &[Row]) -> impl Iterator<Item = (&Row, &WatchedWord)> {
    rows.iter().filter(|row| row.kind == RowKind::Word).filter_map(|row| Some((row, row.word.as_ref()?)))
}

fn usage(row: &Row, word: &WatchedWord) -> Option<String> {
    let place = format!("Watched word {} ({})", row.lock, row.address);
    if word.accesses == 0 {
        return Some(format!("{place}: no access in {}.", nanoseconds(word.watched_s * 1e9)));
    }
    let holds = match (row.hold_p50_ns, row.hold_p99_ns, row.hold_total_s) {
        (Some(p50), Some(p99), Some(total)) => {
            let is_high = p50 < EXACT_FROM * word.access_cost_ns;
            let (most, why) = if is_high {
                ("at most ", " (holders that are preempted while an access is recorded make short holds longer)")
            } else {
                ("", "")
            };
            let (p99, total) = (nanoseconds(p99), nanoseconds(total * 1e9));
            format!("held for {} (median; p99 {most}{p99}), {most}{total} in total{why}", nanoseconds(p50))
        }
        _ => "hold times too short to be timed this way".to_owned(),
    };
    let held = word.held_share.map(|share| {
        format!(" Outside the windows it was held {} of the time ({} reads).", percent(share), count(word.reads))
    });
    // Windows that cover nearly all of the run leave nothing to extrapolate.
    let extrapolated = (word.watched_s < 0.95 * word.elapsed_s).then(|| {
        format!(
            " If the rest of the {1} was like the windows, it was acquired some {0} times.",
            count(word.acquisitions_extrapolated.round() as u64),
            nanoseconds(word.elapsed_s * 1e9)
        )
    });
    Some(format!(
        "{place}: {} acquisitions, {} of them contended, {} failed attempts; {holds}.{}{}",
        count(row.acquisitions),
        count(row.contended),
        count(word.failed_attempts),
        held.unwrap_or_default(),
        extrapolated.unwrap_or_default()
    ))
}

fn conditions(word: &WatchedWord) -> String {
    let lost = if word.lost_accesses > 0 {
        format!(" {} accesses were lost, so the counts are too low.", count(word.lost_accesses))
    } else {
        String::new()
    };
    let windows = terminal::counted(word.windows as usize, "window");
    format!(
        "Counts are those of {windows}, {} of {}; an access took {} more while it was watched, which hold times \
         exclude.{lost}",
        nanoseconds(word.watched_s * 1e9),
        nanoseconds(word.elapsed_s * 1e9),
        nanoseconds(word.access_cost_ns)
    )
}

/// Returns the tables of the functions that accessed the words.
pub fn tables(rows: &[Row]) -> Vec<Table> {
    let table = |(row, word): (&Row, &WatchedWord)| Table {
        caption: format!("Accesses to {} by function", row.lock),
        header: vec!["function", "acquired", "failed", "spin reads", "total hold"],
        rows: word
            .sites
            .iter()
            .map(|site| {
                vec![
                    site.site.clone(),
                    count(site.acquisitions),
                    count(site.failed_attempts),
                    count(site.spin_reads),
                    optional(site.hold_total_s.map(|total| total * 1e9), Unit::Ns),
                ]
            })
            .collect(),
    };
    words(rows).filter(|(_, word)| !word.sites.is_empty()).map(table).collect()
}

/// Returns the part of the page.
pub fn figure(rows: &[Row]) -> Option<Figure> {
    let tables = tables(rows);
    (!tables.is_empty()).then(|| Figure {
        title: "Watched words".into(),
        picture: Picture::None,
        tables,
        secondary: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_short_holds_is_a_bound() {
        let word =
            WatchedWord { accesses: 8, watched_s: 1.0, elapsed_s: 1.0, access_cost_ns: 13_700.0, ..Default::default() };
        let sentence = |p50_ns: f64| {
            let row = Row {
                hold_p50_ns: Some(p50_ns),
                hold_p99_ns: Some(2.0 * p50_ns),
                hold_total_s: Some(0.355),
                word: Some(word.clone()),
                ..Row::new(RowKind::Word, 1, "own_lock".into())
            };
            sentences(&[row]).remove(0)
        };
        let short = sentence(20_000.0);
        assert!(short.contains("(median; p99 at most 40.0 µs), at most 355 ms in total (holders"), "{short}");
        let long = sentence(200_000.0);
        assert!(long.contains("(median; p99 400 µs), 355 ms in total."), "{long}");
    }
}
