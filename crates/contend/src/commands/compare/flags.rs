//! The flags: the records to compare, and the limits.

use super::limit::Limit;
use clap::Args;

/// Compare two records: faster, slower, or no difference shown
///
/// The differences of machine, build and settings come first, then each configuration: faster, slower, or not shown to
/// differ. A record is a file that --format json wrote, or an archived record: the first digits of a hash, `last`,
/// `last~3`, or a revision of contend's sources. A single record is compared with a baseline. Exit status 3: a limit of
/// --fail-if is exceeded. Exit status 4: --fail-if could judge no value.
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
