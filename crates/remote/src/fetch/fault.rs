//! What goes wrong between two machines: what may be better the next time, and what will not.

use std::fmt::Display;
use std::io;

#[derive(Debug)]
pub enum Fault {
    /// Nobody is there.
    Unreachable(anyhow::Error),
    /// It broke off, or stopped.
    Broken(anyhow::Error),
    /// To ask again would change nothing.
    Final(anyhow::Error),
}

impl Fault {
    pub fn unreachable(why: &dyn Display) -> Self {
        Self::Unreachable(anyhow::anyhow!("cannot connect: {why}"))
    }

    pub fn broken(why: &str) -> Self {
        Self::Broken(anyhow::anyhow!("{why}"))
    }

    /// Of an exchange: what is no HTTP is no server of ours, all else may be the way to it.
    pub fn of(error: hyper::Error) -> Self {
        if error.is_parse() {
            return Self::Final(anyhow::Error::new(error).context("the server is not `contend serve`"));
        }
        Self::Broken(anyhow::Error::new(error).context("the connection was lost"))
    }

    /// Of a handshake: a certificate does not become another by asking again.
    pub fn of_encryption(error: io::Error) -> Self {
        let is_said = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        let error = anyhow::Error::new(error);
        if is_said {
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
