//! What is compared, and what must not be found.

use super::limit::Limit;
use clap::Args;

/// Compare two records: faster, slower, or no difference shown
///
/// A record is a file that `--format json` wrote, or one of the archive: the first digits of its hash, `last`,
/// `last~3`, a revision of contend's sources. One record alone is held against a baseline. Exit status 3: a limit of
/// --fail-if is exceeded. Exit status 4: no figure could be judged by it.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Reference record: a file (- is standard input) or an archived record [default: a baseline]
    #[arg(value_name = "A")]
    pub a: Option<String>,

    /// Record to judge [default: the last record, if neither is given]
    #[arg(value_name = "B")]
    pub b: Option<String>,

    /// Compare the only record given, or the last one, with this baseline; see `contend baseline`
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Exit with status 3 if a configuration is shown to be slower by more than this: slower:5%, faster:5%, differs:5%
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,
}
