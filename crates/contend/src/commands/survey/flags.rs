//! What the user may set.

use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// The main job, also run without a command: every experiment briefly, what it found in words, then and now
///
/// The clock, the lock latency laboratory, ulockflex, the interruptions of a running thread, the CPU that a process
/// would get, the thread ring, and what follows for many machines. It ends with the findings and with the figures of
/// 1998 to 2008 beside today's; the tables and pictures of each experiment are on a page, and in the record that is
/// kept.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// Only these experiments, separated by commas
    #[arg(long, value_parser = PossibleValuesParser::new(names()), value_name = "LIST", value_delimiter = ',', conflicts_with = "skip")]
    only: Vec<String>,

    /// All experiments but these
    #[arg(long, value_parser = PossibleValuesParser::new(names()), value_name = "LIST", value_delimiter = ',')]
    skip: Vec<String>,

    /// 100 s instead of a minute: narrower intervals, and rarer events; --seconds gives it more
    #[arg(long)]
    pub thorough: bool,

    /// Where the page goes [default: survey.html beside the archive; none where nothing is kept]
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    pub page: Option<PathBuf>,

    /// Write no page
    #[arg(long)]
    pub no_page: bool,
}

/// What the parts are called: several questions of a group are one.
pub fn names() -> Vec<&'static str> {
    let surveyed = experiments::ALL.iter().filter(|entry| entry.survey.is_some());
    let mut names: Vec<&str> = surveyed.map(|entry| entry.words().0).collect();
    names.dedup();
    names
}

impl Flags {
    /// Whether the part of this name is to run.
    pub fn wants(&self, name: &str) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == name);
        if self.only.is_empty() { !has(&self.skip) } else { has(&self.only) }
    }
}
