//! Whether a certificate is valid today. Of whoever is known by a fingerprint nothing else is asked.

use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{Error, RootCertStore, client};

/// That it is neither too old nor too new.
///
/// # Errors
/// It is, or it is no certificate at all.
pub fn check(certificate: &CertificateDer<'_>) -> Result<(), Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    let mut itself = RootCertStore::empty();
    itself.add(certificate.clone().into_owned())?;
    let algorithms = default_provider().signature_verification_algorithms.all;
    match client::verify_server_cert_signed_by_trust_anchor(&parsed, &itself, &[], UnixTime::now(), algorithms) {
        Err(Error::InvalidCertificate(
            reason @ (Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }),
        )) => Err(Error::InvalidCertificate(reason)),
        // Who signed it is not asked.
        _ => Ok(()),
    }
}
