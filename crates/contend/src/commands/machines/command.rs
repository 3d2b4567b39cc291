//! `contend machines`: machines compared by their records. It reads records and never measures.

use super::price::Price;
use super::score::Comparison;
use super::sides::{NothingToCompare, sides};
use super::{page, text};
use crate::output::Destination;
use clap::{Args, ValueHint};
use harness::output::{self, OutputFile, print_document};
use harness::{Format, Outcome, SharedFlags};
use std::path::{Path, PathBuf};

/// Compare machines by the costs of waiting in their records
///
/// The costs are those of `contend ladder`: clock and system calls, uncontended and contended locks, switches, memory,
/// and the CPU time that others take. A score sums them up, with its 95 % confidence interval; a rank is 1 plus the
/// number of machines shown to be better. Surveys have the most costs. This command measures nothing.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Machines of the archive, records of it, or files with records. NAME=RECORD counts a record as one of the machine
    /// NAME, such as an instance type [default: all machines of the archive]
    #[arg(value_name = "[NAME=]RECORD|HOST", value_hint = ValueHint::FilePath)]
    machines: Vec<String>,

    /// Price of a machine per hour in any currency, such as m7g=0.12; can be given several times
    #[arg(long, value_name = "NAME=PRICE")]
    price: Vec<Price>,

    /// Also write the comparison as an HTML report to FILE (- is standard output)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Compares the machines and presents the result.
///
/// # Errors
/// Records cannot be read, or the output cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let destination = Destination::of_view(shared)?;
    let to_stdout = flags.page.as_deref() == Some(Path::new("-"));
    let file = flags.page.as_deref().filter(|_| !to_stdout).map(|path| OutputFile::open("--page", path)).transpose()?;
    let compared = sides(&flags.machines, shared).and_then(|sides| Comparison::of(&sides, &flags.price));
    let comparison = match compared {
        Err(error) if error.is::<NothingToCompare>() => {
            output::eprint_line(&format!("error: {error}"));
            return Ok(Outcome::NotJudged);
        }
        compared => compared?,
    };
    if to_stdout {
        print_document(&page::page(&comparison))?;
        return Ok(Outcome::Done);
    }
    match shared.format {
        Format::Markdown => destination.present_text(&text::markdown(&comparison))?,
        _ => destination.present(&comparison, &comparison.rows(), |page| text::text(&comparison, page))?,
    }
    if let Some(file) = file {
        file.write(page::page(&comparison).as_bytes())?;
    }
    Ok(Outcome::Done)
}
