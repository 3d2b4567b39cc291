//! The list of baselines, a line each.

use super::known::readable;
use crate::commands::archived;
use crate::output::Destination;
use archive::{Baseline, Location, short};
use harness::Outcome;
use terminal::{Page, moment};

pub fn run(location: &Location, destination: Destination) -> anyhow::Result<Outcome> {
    // Before the first run there is no archive, which is not a failure.
    let all = archived::at(location)?.map_or_else(|| Ok(Vec::new()), |catalogue| readable(&catalogue))?;
    destination.present(&all, &all, |page| text(&all, page))?;
    Ok(Outcome::Done)
}

fn text(all: &[Baseline], page: &Page) -> String {
    if all.is_empty() {
        return "no baselines; `contend baseline save NAME` saves the last record as one\n".to_owned();
    }
    let line = |baseline: &Baseline| {
        let used = if baseline.is_used { " (in use)" } else { "" };
        let records: Vec<&str> = baseline.records.iter().map(|record| short(record)).collect();
        vec![format!("{}{used}", baseline.name), moment(baseline.saved_unix_s), records.join(" ")]
    };
    let table = terminal::table_of_words(&["baseline", "saved (UTC)", "records"], all.iter().map(line));
    table.lines().map(|line| page.cut(line) + "\n").collect()
}
