//! Watched words on a terminal and a page.

use super::super::record::{Row, RowKind};
use super::record::WatchedWord;
use record::{Figure, Picture, Table, Unit, optional};
use terminal::{count, nanoseconds, percent};

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
        (Some(p50), Some(p99), Some(total)) => format!(
            "held for {} (median; p99 {}), {} in total",
            nanoseconds(p50),
            nanoseconds(p99),
            nanoseconds(total * 1e9)
        ),
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
