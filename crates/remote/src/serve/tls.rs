//! The server's side of encrypted connections.

use super::flags::Flags;
use crate::certificate::Identity;
use crate::fingerprint::Fingerprint;
use crate::trust::roots;
use anyhow::Context;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Reads the given certificate, or the server's own in the file `own`; returns its fingerprint too.
///
/// # Errors
/// It cannot be read, created or used.
pub fn config(flags: &Flags, address: SocketAddr, own: Option<&Path>) -> anyhow::Result<(TlsAcceptor, Fingerprint)> {
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
