//! Flags of the client: the records, and the machines that have them.

use super::client::Hosts;
use crate::tls::Fingerprint;
use clap::{Args, ValueHint};
use harness::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// Copy records from other machines to the local archive, or follow a run there
///
/// Every record is requested by its name, which is the hash of its content, and saved only if the received data has
/// that hash and is readable. Records of the local archive are not requested again, so a fetch after an interrupted one
/// continues where that stopped.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Machines that run `contend serve`, separated by commas; connections are encrypted, except to this machine,
    /// unless http:// or https:// selects otherwise
    #[arg(value_name = "HOST[:PORT]")]
    pub hosts: Hosts,

    /// Records: the first digits of a hash, last, last~3, or the name of an experiment [default: all]; with --live, the
    /// experiment to start, as in the server's list
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,

    /// Show the current run of the machine until it ends
    #[arg(long)]
    pub live: bool,

    /// Stop asking a host after this time, and after a tenth of it for one record; records received by then are saved,
    /// and the next fetch continues there
    #[arg(long, value_name = "TIME", value_parser = parse_duration::budget, default_value = "10min",
          conflicts_with = "live")]
    pub within: Duration,

    /// Archive directory [default: $CONTEND_ARCHIVE, then contend/archive.git in the user's data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive: Option<PathBuf>,

    /// Token that the server requires, in a file that no other user may read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,

    /// Trust a server whose certificate has this SHA-256, as the server prints it; can be given several times
    #[arg(long, value_name = "SHA256")]
    pub fingerprint: Vec<Fingerprint>,

    /// Trust a server whose certificate was signed by one of these (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,

    /// Certificate of this client, if the server requires one (PEM)
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub certificate: Option<PathBuf>,

    /// Private key of --certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
}
