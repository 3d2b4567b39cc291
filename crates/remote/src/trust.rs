//! The servers that a client trusts: those whose fingerprint the user gave, or that an authority of the user signed.

use crate::certificate::Identity;
use crate::dates;
use crate::fingerprint::Fingerprint;
use anyhow::{Context, ensure};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// Returns the client's configuration of every encrypted connection.
///
/// # Errors
/// A file has no certificate, or the client's own does not match its key.
pub fn client(
    fingerprints: &[Fingerprint],
    authorities: Option<&Path>,
    own: Option<Identity>,
) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(default_provider());
    let signed = authorities.map(|file| signed_by(file, &provider)).transpose()?;
    let trust = Trust { fingerprints: fingerprints.to_vec(), signed, provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(trust));
    match own {
        None => Ok(config.with_no_client_auth()),
        Some(own) => {
            config.with_client_auth_cert(own.chain, own.key).context("the certificate and the private key do not match")
        }
    }
}

/// Reads the certificates of a file as authorities.
///
/// # Errors
/// It has none.
pub fn roots(file: &Path) -> anyhow::Result<RootCertStore> {
    let place = file.display();
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).with_context(|| format!("cannot read {place}"))?;
    for certificate in certificates {
        let certificate = certificate.with_context(|| format!("{place}: contains an invalid certificate"))?;
        roots.add(certificate).with_context(|| format!("{place}: contains an unusable certificate"))?;
    }
    ensure!(!roots.is_empty(), "{place}: contains no certificate");
    Ok(roots)
}

fn signed_by(file: &Path, provider: &Arc<CryptoProvider>) -> anyhow::Result<Arc<WebPkiServerVerifier>> {
    let roots = Arc::new(roots(file)?);
    Ok(WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build()?)
}

#[derive(Debug)]
struct Trust {
    fingerprints: Vec<Fingerprint>,
    signed: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = Fingerprint::of(end_entity);
        if self.fingerprints.contains(&shown) {
            return dates::check(end_entity).map(|()| ServerCertVerified::assertion());
        }
        match &self.signed {
            Some(signed) => signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now),
            None => Err(Error::General(format!(
                "the server's certificate is not trusted; its SHA-256 fingerprint is {shown}; if `contend serve` \
                 printed this fingerprint there, give --fingerprint {shown}"
            ))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
