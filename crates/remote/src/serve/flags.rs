//! Flags of the server, checked before it listens.

use crate::exchange::PORT;
use clap::{Args, ValueHint};
use harness::{UsageError, parse_duration};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Serve the archive, live results and Prometheus metrics over HTTP
///
/// The first line of output has the address. Clients on this machine need nothing else; others are served over TLS, and
/// only with a token or a certificate. Records are read-only, unless --accept is given.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Address and port; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = format!("127.0.0.1:{PORT}"))]
    pub listen: String,

    /// Archive directory [default: $CONTEND_ARCHIVE, then contend/archive.git in the user's data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive: Option<PathBuf>,

    /// Serve only clients with the token in FILE, which no other user may read; a missing file is created
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,

    /// Serve only clients with a certificate signed by one of these (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub client_ca: Option<PathBuf>,

    /// Certificate of the server (PEM) [default: created by the server, next to the archive]
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub certificate: Option<PathBuf>,

    /// Private key of --certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,

    /// Use TLS also for addresses of this machine
    #[arg(long)]
    pub tls: bool,

    /// Accept records from clients, if their content matches their names
    #[arg(long)]
    pub accept: bool,

    /// Experiment that clients may start, with its options, such as "noise --seconds 10"; can be given several times
    #[arg(long, value_name = "EXPERIMENT")]
    pub run: Vec<String>,

    /// Start the experiments of --run one after another, each at this interval (with a unit, or in seconds) after the start
    /// of the one before
    #[arg(long, value_name = "TIME", value_parser = parse_duration::budget, requires = "run")]
    pub every: Option<Duration>,

    /// Maximum number of connections; beyond it, the connection that was idle for longest is closed [range: 8 to
    /// 100000]
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(8..=100_000))]
    pub connections: u32,
}

impl Flags {
    /// Returns the address to listen on.
    ///
    /// # Errors
    /// It is not an address, or one that other machines can reach without credentials.
    pub fn address(&self) -> Result<SocketAddr, UsageError> {
        let wrong = |why: String| UsageError(format!("--listen {}: {why}", self.listen));
        let mut found = self.listen.to_socket_addrs().map_err(|error| {
            wrong(format!("not an address and port such as 127.0.0.1:{PORT} or [::1]:{PORT}: {error}"))
        })?;
        let address = found.next().ok_or_else(|| wrong("this name has no address".into()))?;
        if !address.ip().is_loopback() && self.token_file.is_none() && self.client_ca.is_none() {
            return Err(wrong(
                "other machines can reach this address; require a secret with --token-file FILE or --client-ca FILE"
                    .into(),
            ));
        }
        Ok(address)
    }

    /// Returns whether connections are encrypted.
    pub fn has_tls(&self, address: SocketAddr) -> bool {
        self.tls || self.certificate.is_some() || self.client_ca.is_some() || !address.ip().is_loopback()
    }

    /// Returns the words of the experiments that may be started.
    ///
    /// # Errors
    /// A call does not start with the name of an experiment.
    pub fn list(&self) -> Result<Vec<Vec<String>>, UsageError> {
        let words = |call: &String| {
            let words: Vec<String> = call.split_whitespace().map(str::to_owned).collect();
            let is_experiment = experiments::ALL.iter().any(|entry| {
                let name: Vec<&str> = entry.name.split(' ').collect();
                words.len() >= name.len() && words.iter().zip(&name).all(|(word, part)| word == part)
            });
            if is_experiment || words.first().is_some_and(|word| word == "survey") {
                return Ok(words);
            }
            Err(UsageError(format!(
                "--run {call:?}: does not start with the name of an experiment; `contend --help` lists all experiments"
            )))
        };
        self.run.iter().map(words).collect()
    }
}
