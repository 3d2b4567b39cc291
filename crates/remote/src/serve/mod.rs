//! `contend serve`: the archive, live values and metrics over HTTP/1.1.

mod answer;
mod connections;
mod flags;
mod handlers;
mod index;
mod limits;
mod listen;
mod metrics;
mod response;
mod runner;
mod state;

pub use flags::Flags;

use crate::program::Words;
use crate::tls::{Fingerprint, Identity, roots};
use ::archive::{Archive, Location};
use anyhow::Context;
use harness::{Outcome, output};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use state::State;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

pub const EXAMPLES: Words = Words {
    name: "serve",
    binary: "contend-serve",
    calls: &[
        ("contend serve", "Serve on this machine only, at the address in the first line"),
        ("contend serve --listen 0.0.0.0:8418 --token-file token", "Serve over TLS to clients with the token"),
        (
            "contend serve --run \"noise --seconds 10\" --every 5min",
            "Run an experiment every 5 min, for recent results",
        ),
    ],
};

/// Serves until a signal ends it.
///
/// # Errors
/// The flags are invalid, there is no archive, the address is not available, or files cannot be used.
pub fn run(flags: &Flags) -> anyhow::Result<Outcome> {
    let address = flags.address()?;
    let list = flags.list()?;
    let location = Location::of(flags.archive.as_deref());
    let default_certificate = location.sibling_file("serve.pem");
    let archive = Archive::open_or_create(&location.folder()?)?;
    let (token, is_new) = match &flags.token_file {
        Some(file) => crate::token::read_or_make(file).map(|(token, is_new)| (Some(token), is_new))?,
        None => (None, false),
    };
    let tls = flags.has_tls(address).then(|| server_tls(flags, address, default_certificate.as_deref())).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(limits::BLOCKING)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    runtime.block_on(async {
        let listener = listen::bind(address)?;
        let bound = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        output::print(&format!("listening on {scheme}://{bound}\n"))?;
        if let Some((_, fingerprint)) = &tls {
            output::print(&format!("certificate {fingerprint}\n"))?;
        }
        if let Some(file) = flags.token_file.as_ref().filter(|_| is_new) {
            output::print(&format!("token created in {}\n", file.display()))?;
        }
        let is_open = token.is_none() && flags.client_ca.is_none();
        let state = Arc::new(State::new(archive, token.as_deref(), is_open, flags, list));
        listen::serve(listener, tls.map(|(config, _)| config), state).await
    })?;
    // Unfinished work has already been given its time limit.
    runtime.shutdown_timeout(std::time::Duration::from_millis(100));
    Ok(Outcome::Done)
}

/// Reads the given certificate, or the server's own in the file `own`; returns its fingerprint too.
///
/// # Errors
/// It cannot be read, created or used.
fn server_tls(flags: &Flags, address: SocketAddr, own: Option<&Path>) -> anyhow::Result<(TlsAcceptor, Fingerprint)> {
    let identity = match (&flags.certificate, &flags.key) {
        (Some(certificate), Some(key)) => Identity::read(certificate, key)?,
        _ => Identity::read_or_make(
            own.context("no directory for a certificate; set HOME or XDG_DATA_HOME, or give --certificate and --key")?,
            &names(address),
        )?,
    };
    let fingerprint = identity.fingerprint();
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match &flags.client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let roots = Arc::new(roots(file)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build()?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(identity.chain, identity.key)
        .context("the certificate and the private key do not match")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), fingerprint))
}

/// Returns the names of this machine.
fn names(address: SocketAddr) -> Vec<String> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    // A certificate cannot contain every valid name of a machine.
    if host.is_ascii() && !host.is_empty() && host != names[0] {
        names.push(host);
    }
    names.extend(Some(address.ip()).filter(|ip| !ip.is_unspecified() && !ip.is_loopback()).map(|ip| ip.to_string()));
    names
}
