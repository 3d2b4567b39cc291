//! What the user may set.

use super::plan::Part;
use crate::cli::Misuse;
use clap::Args;
use std::path::PathBuf;

/// The main job, also run without a command: every experiment briefly, what it found in words, then and now
///
/// The clock, the lock latency laboratory, ulockflex, the interruptions of a running thread, the CPU that a process would
/// get, the thread ring, and what follows for many machines. It ends with the findings and with the figures of 1998 to 2008
/// beside today's; the tables and pictures of each experiment are on a page, and in the record that is kept.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// Only these experiments, separated by commas
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', conflicts_with = "skip")]
    only: Vec<Part>,

    /// All experiments but these
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    skip: Vec<Part>,

    /// Where the page goes [default: survey.html beside the archive; none where nothing is kept]
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    pub page: Option<PathBuf>,

    /// Write no page
    #[arg(long)]
    pub no_page: bool,
}

impl Flags {
    /// The experiments that are wanted, in the order in which they run.
    ///
    /// # Errors
    /// None is left.
    pub fn parts(&self) -> Result<Vec<Part>, Misuse> {
        let wanted = |part: &Part| match self.only.is_empty() {
            true => !self.skip.contains(part),
            false => self.only.contains(part),
        };
        let parts: Vec<Part> = Part::ALL.into_iter().filter(wanted).collect();
        match parts.is_empty() {
            true => Err(Misuse(format!("--skip: no experiment is left; keep one of {}", names().join(", ")))),
            false => Ok(parts),
        }
    }
}

fn names() -> Vec<&'static str> {
    Part::ALL.into_iter().map(Part::name).collect()
}
