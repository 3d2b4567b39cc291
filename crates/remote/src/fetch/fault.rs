//! Errors between two machines: transient ones, after which a retry may help, and final ones.

use std::fmt::Display;
use std::io;

#[derive(Debug)]
pub enum Fault {
    /// The machine cannot be reached.
    Unreachable(anyhow::Error),
    /// The connection broke off or stalled.
    Broken(anyhow::Error),
    /// A retry would not help.
    Final(anyhow::Error),
}

impl Fault {
    pub fn unreachable(why: &dyn Display) -> Self {
        Self::Unreachable(anyhow::anyhow!("cannot connect: {why}"))
    }

    pub fn broken(why: &str) -> Self {
        Self::Broken(anyhow::anyhow!("{why}"))
    }

    /// Classifies an error of an exchange: data that are not HTTP do not come from contend's server, and all other
    /// errors may be the network's.
    pub fn of(error: hyper::Error) -> Self {
        if error.is_parse() {
            return Self::Final(anyhow::Error::new(error).context("the server is not `contend serve`"));
        }
        Self::Broken(anyhow::Error::new(error).context("the connection was lost"))
    }

    /// Classifies an error of a handshake: a retry does not change a certificate.
    pub fn of_encryption(error: io::Error) -> Self {
        let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        let error = anyhow::Error::new(error);
        if is_tls {
            return Self::Final(error.context("cannot establish a TLS connection"));
        }
        Self::Broken(error.context("the connection was lost during the TLS handshake"))
    }

    pub fn into_error(self) -> anyhow::Error {
        match self {
            Self::Unreachable(error) | Self::Broken(error) | Self::Final(error) => error,
        }
    }
}
