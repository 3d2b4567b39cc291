//! The flags of the survey.

use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// Run every experiment briefly; compare the results with those of 1998 to 2008
///
/// The survey also runs when contend is called without a command. It covers the clock, the lock latency laboratory,
/// ulockflex, OS noise, the CPU time available to a process, the thread ring, and models of many machines. It ends with
/// findings in plain sentences, and with the results of 1998 to 2008 next to those of today. The tables and charts of
/// each experiment are in the HTML report, and in the saved record.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// Run only these experiments, separated by commas
    #[arg(long, value_parser = PossibleValuesParser::new(names()), value_name = "LIST", value_delimiter = ',', conflicts_with = "skip")]
    only: Vec<String>,

    /// Skip these experiments, separated by commas
    #[arg(long, value_parser = PossibleValuesParser::new(names()), value_name = "LIST", value_delimiter = ',')]
    skip: Vec<String>,

    /// Measure for 100 s instead of one minute, for narrower confidence intervals and rarer events; --seconds sets any
    /// other time
    #[arg(long)]
    pub thorough: bool,

    /// Write the HTML report to FILE [default: survey.html next to the archive; no report if nothing is saved]
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    pub page: Option<PathBuf>,

    /// Write no HTML report
    #[arg(long)]
    pub no_page: bool,
}

/// Returns the names of the parts: several questions of a group are one.
pub fn names() -> Vec<&'static str> {
    let surveyed = experiments::ALL.iter().filter(|entry| entry.survey.is_some());
    let mut names: Vec<&str> = surveyed.map(|entry| entry.words().0).collect();
    names.dedup();
    names
}

impl Flags {
    /// Returns whether the part of this name is to run.
    pub fn wants(&self, name: &str) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == name);
        if self.only.is_empty() { !has(&self.skip) } else { has(&self.only) }
    }
}
