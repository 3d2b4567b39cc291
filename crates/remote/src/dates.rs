//! The validity period of a certificate. A certificate that is identified by its fingerprint is checked for nothing
//! else.

use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{Error, RootCertStore, client};

/// Checks that it is neither expired nor not valid yet.
///
/// # Errors
/// It is, or it is not a certificate.
pub fn check(certificate: &CertificateDer<'_>) -> Result<(), Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    let mut itself = RootCertStore::empty();
    itself.add(certificate.clone().into_owned())?;
    let algorithms = default_provider().signature_verification_algorithms.all;
    match client::verify_server_cert_signed_by_trust_anchor(&parsed, &itself, &[], UnixTime::now(), algorithms) {
        Err(Error::InvalidCertificate(
            reason @ (Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }),
        )) => Err(Error::InvalidCertificate(reason)),
        // The issuer is not checked.
        _ => Ok(()),
    }
}
