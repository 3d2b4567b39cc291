//! What is compared, and what must not be found.

use super::limit::Limit;
use clap::Args;

/// Two records: what differs beside the figures, then which cells are faster, slower, or not shown to differ
///
/// A record is a file that `--format json` wrote, or one of the archive: the first digits of its hash, `last`,
/// `last~3`, a revision of contend's sources. One record alone is held against a baseline. Exit status 3: a limit of
/// --fail-if is exceeded. Exit status 4: no figure could be judged by it.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// What is held against: a file (- is standard input) or a record of the archive; left out, it is a baseline's
    #[arg(value_name = "A")]
    pub a: Option<String>,

    /// What is held against it; the last record, if neither is named
    #[arg(value_name = "B")]
    pub b: Option<String>,

    /// Hold the one record that is named, or the last, against this baseline; see `contend baseline`
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Exit with 3 if a cell is shown to be slower by more than that: slower:5%, faster:5%, differs:5%
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,
}
