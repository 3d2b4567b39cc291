//! The SHA-256 of a certificate: short enough to be read aloud, and sufficient to identify it.

use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::str::FromStr;

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
