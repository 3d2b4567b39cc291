//! The certificate of a server: a given one, or one that the server created because there was none.

use crate::dates;
use crate::fingerprint::Fingerprint;
use anyhow::{Context, bail};
use harness::output::draft_beside;
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A chain of certificates and the private key of the first.
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
    dates::check(first).with_context(|| format!("{place}: the certificate is not valid today"))?;
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
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // The file is private from the first moment, and visible only when it is complete.
    let mut draft = draft_beside(file, 0o600)?;
    draft.write_all((key.serialize_pem() + &certificate.pem()).as_bytes())?;
    draft.as_file().sync_all()?;
    match draft.persist_noclobber(file) {
        // Another server created one at the same moment, which is used.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => Ok(made.map(drop)?),
    }
}
