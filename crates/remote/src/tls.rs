//! The certificates of both sides: created or read, identified by their fingerprints, and trusted or not.

use anyhow::{Context, bail, ensure};
use harness::output::{OutputFolder, PRIVATE};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use ring::digest::{SHA256, digest};
use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, client};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::{fmt, fs};

/// The certificate of a server: a given one, or one that the server created because there was none.
///
/// It is a chain of certificates and the private key of the first.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.chain[0])
    }

    /// Reads it from files that the user names.
    ///
    /// # Errors
    /// They cannot be read, are not a certificate and a key, or the certificate has expired.
    pub fn read(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let pem = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        parsed(&pem(certificate)?, &pem(key)?, &certificate.display().to_string())
    }

    /// Reads both from one file, which is created if it does not exist.
    ///
    /// # Errors
    /// As [`Self::read`]; other users may read it; it cannot be created.
    pub fn read_or_make(file: &Path, names: &[String]) -> anyhow::Result<Self> {
        let place = file.display();
        match fs::metadata(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(file, names).with_context(|| format!("{place}: cannot create a certificate"))?;
            }
            Ok(found) if found.mode() & 0o077 != 0 => {
                bail!(
                    "{place}: other users may read the server's private key; remove the file, and contend creates a \
                     new one"
                );
            }
            _ => {}
        }
        let pem = fs::read(file).with_context(|| format!("cannot read {place}"))?;
        parsed(&pem, &pem, &place.to_string())
    }
}

fn parsed(certificate: &[u8], key: &[u8], place: &str) -> anyhow::Result<Identity> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.with_context(|| format!("{place}: contains an invalid certificate"))?;
    let first = chain.first().with_context(|| format!("{place}: contains no certificate"))?;
    check_dates(first).with_context(|| format!("{place}: the certificate is not valid today"))?;
    let key = PrivateKeyDer::from_pem_slice(key).with_context(|| format!("{place}: contains no valid private key"))?;
    Ok(Identity { chain, key })
}

/// The validity of a certificate that is created here: clients identify it by its fingerprint, and a new one has to be
/// announced to them.
const YEARS: i32 = 10;

fn make(file: &Path, names: &[String]) -> anyhow::Result<()> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "contend serve");
    let this_year = 1970 + (rustls::pki_types::UnixTime::now().as_secs() / 31_556_952) as i32;
    params.not_before = date_time_ymd(this_year - 1, 1, 1);
    params.not_after = date_time_ymd(this_year + YEARS, 1, 1);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let name = file.file_name().and_then(|name| name.to_str()).context("not the name of a file")?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // The file is private from the first moment, and visible only when it is complete. Where another server created one
    // at the same moment, that is used.
    let text = key.serialize_pem() + &certificate.pem();
    OutputFolder::open(folder)?.create(name, PRIVATE, text.as_bytes())?;
    Ok(())
}

/// Checks that it is neither expired nor not valid yet.
///
/// A certificate that is identified by its fingerprint is checked for nothing else.
///
/// # Errors
/// It is, or it is not a certificate.
fn check_dates(certificate: &CertificateDer<'_>) -> Result<(), Error> {
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

/// The SHA-256 of a certificate: short enough to be read aloud, and sufficient to identify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

const PREFIX: &str = "SHA256:";

impl Fingerprint {
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Accepts it with or without the name of the hash, with colons or without, as other programs write it.
impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix(PREFIX).unwrap_or(text).replace(':', "");
        let is_one = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes: Option<Vec<u8>> = (0..64)
            .step_by(2)
            .map(|place| u8::from_str_radix(digits.get(place..place + 2).filter(|_| is_one)?, 16).ok())
            .collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| "not a fingerprint; allowed: the 64 hexadecimal digits of a SHA-256".into())
    }
}

/// Returns the client's configuration of every encrypted connection.
///
/// # Errors
/// A file has no certificate, or the client's own does not match its key.
pub fn client_config(
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

/// The servers that a client trusts: those whose fingerprint the user gave, or that an authority of the user signed.
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
            return check_dates(end_entity).map(|()| ServerCertVerified::assertion());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_is_parsed_as_written() {
        let one = Fingerprint::of(&CertificateDer::from(vec![1, 2, 3]));
        // The output of `printf '\1\2\3' | sha256sum`.
        let digits = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81";
        assert_eq!(one.to_string(), format!("SHA256:{digits}"));
        assert_eq!(one.to_string().parse(), Ok(one.clone()));
        let pairs: Vec<String> =
            digits.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).to_uppercase()).collect();
        assert_eq!(pairs.join(":").parse(), Ok(one));
        for wrong in ["", "SHA256:", &digits[1..], &format!("{digits}0"), &digits.replace('c', "g"), &"é".repeat(32)] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
