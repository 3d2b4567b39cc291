//! A value over the records, and its steps.

use super::choice::{NameMatch, likeness};
use super::levels::Trend;
use super::machines::{of_figure, readings};
use super::series::{self, Series};
use super::show;
use crate::commands::history::list::Filter;
use crate::commands::outliers::{self, Machines};
use crate::output::Destination;
use anyhow::bail;
use archive::Catalogue;
use clap::Args;
use harness::{Outcome, UsageError};
use terminal::Page;

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Metric: a name that `contend compare` prints, or a part of it [default: list all names]
    #[arg(value_name = "CELL")]
    cell: Option<String>,

    #[command(flatten)]
    filter: Filter,
}

/// The maximum number of names in a message.
const NAMED: usize = 12;

pub fn run(flags: &Flags, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let entries = flags.filter.of(catalogue.entries)?;
    let (all, unreadable) = series::series(&catalogue.archive, &entries)?;
    let Some(wanted) = &flags.cell else {
        let machines = Machines::of(&readings(&all, &entries));
        let of_machines = |page: &Page| machines.map_or_else(String::new, |found| outliers::text(&found, page));
        destination.present(&all, &all, |page| list(&all) + &show::unreadable(unreadable) + &of_machines(page))?;
        return Ok(Outcome::Done);
    };
    let chosen = chosen(wanted, &all)?;
    let machines = Machines::of(&readings(of_figure(chosen, &all, &entries), &entries));
    let trend = Trend { machines, ..Trend::of(chosen, unreadable, &catalogue.archive)? };
    destination.present(&trend, &trend.points, |page| show::text(&trend, page))?;
    Ok(Outcome::Done)
}

/// Returns the series with the best match, if there is only one.
fn chosen<'a>(wanted: &str, all: &'a [Series]) -> anyhow::Result<&'a Series> {
    let alike: Vec<(NameMatch, &Series)> =
        all.iter().filter_map(|series| Some((likeness(wanted, &series.name())?, series))).collect();
    let best = alike.iter().map(|(likeness, _)| *likeness).min();
    let matching: Vec<&Series> =
        alike.iter().filter(|(likeness, _)| Some(*likeness) == best).map(|(_, series)| *series).collect();
    match matching[..] {
        [one] => Ok(one),
        [] => bail!("{wanted}: no metric of this name in these records; `contend history trend` lists them"),
        _ => {
            let names: Vec<String> = matching.iter().take(NAMED).map(|series| series.name()).collect();
            let more = matching.len().saturating_sub(NAMED);
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            Err(UsageError(format!(
                "{wanted}: {} metrics match; give a longer part of the name:\n  {}{more}",
                matching.len(),
                names.join("\n  ")
            ))
            .into())
        }
    }
}

fn list(all: &[Series]) -> String {
    if all.is_empty() {
        return "no metrics in these records\n".into();
    }
    let line = |series: &Series| vec![series.points.len().to_string(), series.name()];
    terminal::table_of_words(&["records", "metric"], all.iter().map(line))
}
