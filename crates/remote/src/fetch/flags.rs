//! What is asked for, of whom.

use super::host::Hosts;
use crate::fingerprint::Fingerprint;
use clap::{Args, ValueHint};
use harness::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// Keep other machines' records in the own archive, or watch what runs there
///
/// Every record is asked for by its name, which is the hash of all that it is, and kept only if what comes has that
/// hash and can be read. What is there already is not asked for again, so a fetch that broke off goes on where it was.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Machines where `contend serve` runs, with commas between them; encrypted, but for this machine itself, unless it
    /// is written as http:// or https://
    #[arg(value_name = "HOST[:PORT]")]
    pub hosts: Hosts,

    /// Which records: the first digits of a hash, last, last~3, or an experiment's name [default: all]; with --live
    /// what to start, as the server has it on its list
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,

    /// Show what runs there, as it runs, until it ends
    #[arg(long)]
    pub live: bool,

    /// Stop asking a host after this time, and after a tenth of it for one record; records received by then are saved,
    /// and the next fetch continues there
    #[arg(long, value_name = "TIME", value_parser = parse_duration::budget, default_value = "10min",
          conflicts_with = "live")]
    pub within: Duration,

    /// The archive [default: $CONTEND_ARCHIVE, then contend/archive.git in the user's data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive: Option<PathBuf>,

    /// The token that is asked for there, in a file that nobody else may read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,

    /// Believe a server whose certificate has this SHA-256, as it prints it; may be given several times
    #[arg(long, value_name = "SHA256")]
    pub fingerprint: Vec<Fingerprint>,

    /// Believe a server whose certificate was signed by one of these (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,

    /// The own certificate, where one is asked for (PEM)
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub certificate: Option<PathBuf>,

    /// The key of --certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
}
