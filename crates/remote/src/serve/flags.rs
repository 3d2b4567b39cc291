//! What a server is asked for, checked before it listens.

use crate::exchange::PORT;
use clap::{Args, ValueHint};
use harness::{UsageError, parse_duration};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Give the archive, live figures and metrics to other machines over HTTP
///
/// The first line that is printed names the address. On this machine alone nothing else is needed; to others it is
/// given over TLS, and only to whoever has a token or a certificate. Records are only read, unless --accept says
/// otherwise.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// The address and the port; port 0 picks one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = format!("127.0.0.1:{PORT}"))]
    pub listen: String,

    /// The archive [default: $CONTEND_ARCHIVE, then contend/archive.git in the user's data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive: Option<PathBuf>,

    /// Answer only who has the token in this file, which nobody else may read; one that is not there is made
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,

    /// Answer only who has a certificate that was signed by one of these (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub client_ca: Option<PathBuf>,

    /// The server's certificate (PEM) [default: one that it makes, beside the archive]
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub certificate: Option<PathBuf>,

    /// The key of --certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,

    /// TLS on this machine's own addresses too
    #[arg(long)]
    pub tls: bool,

    /// Take records that others send, when they are what their names say
    #[arg(long)]
    pub accept: bool,

    /// An experiment that may be started, with its flags, such as "noise --seconds 10"; may be given several times
    #[arg(long, value_name = "EXPERIMENT")]
    pub run: Vec<String>,

    /// Start those of --run one after another, each so long after the one before began
    #[arg(long, value_name = "TIME", value_parser = parse_duration::budget, requires = "run")]
    pub every: Option<Duration>,

    /// Connections at once; of more, the one that has been idle for longest is cut
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(8..=100_000))]
    pub connections: u32,
}

impl Flags {
    /// Where it listens.
    ///
    /// # Errors
    /// No address, or one of others without a secret.
    pub fn address(&self) -> Result<SocketAddr, UsageError> {
        let wrong = |why: String| UsageError(format!("--listen {}: {why}", self.listen));
        let mut found = self.listen.to_socket_addrs().map_err(|error| {
            wrong(format!("it is no address and port such as 127.0.0.1:{PORT} or [::1]:{PORT}: {error}"))
        })?;
        let address = found.next().ok_or_else(|| wrong("it is no address".into()))?;
        if !address.ip().is_loopback() && self.token_file.is_none() && self.client_ca.is_none() {
            return Err(wrong(
                "other machines reach this address; give a secret too, with --token-file FILE or --client-ca FILE"
                    .into(),
            ));
        }
        Ok(address)
    }

    /// Whether connections are encrypted.
    pub fn has_tls(&self, address: SocketAddr) -> bool {
        self.tls || self.certificate.is_some() || self.client_ca.is_some() || !address.ip().is_loopback()
    }

    /// The words of the experiments that may be started.
    ///
    /// # Errors
    /// One that is no experiment.
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
            Err(UsageError(format!("--run {call:?}: it begins with no experiment's name; `contend --help` lists them")))
        };
        self.run.iter().map(words).collect()
    }
}
