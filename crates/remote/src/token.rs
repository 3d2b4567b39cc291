//! The token of clients: a line in a file that no other user may read.

use anyhow::{Context, ensure};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const SHORTEST: usize = 16;
const LONGEST: usize = 4_096;

/// Reads the token from a file.
///
/// # Errors
/// It cannot be read, other users may read it, or it is not a token.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let place = path.display();
    let found = fs::metadata(path).with_context(|| format!("{place}: cannot read the token"))?;
    ensure!(found.is_file(), "{place}: not a file");
    ensure!(
        found.mode() & 0o077 == 0,
        "{place}: other users may read the token (mode {:03o}); run `chmod 600`, or better create a new token",
        found.mode() & 0o777
    );
    ensure!(found.len() <= LONGEST as u64, "{place}: the token is too long; allowed: {LONGEST} characters");
    let text = fs::read_to_string(path).with_context(|| format!("{place}: cannot read the token"))?;
    let token = text.trim();
    ensure!(
        token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic()),
        "{place}: not a token; allowed: one line of {SHORTEST} or more printable characters without spaces"
    );
    Ok(token.to_owned())
}

/// Reads the token; a missing file is created, with a token from the kernel's random numbers.
///
/// Also returns whether it was created.
///
/// # Errors
/// As [`read`], or it cannot be created.
pub fn read_or_make(path: &Path) -> anyhow::Result<(String, bool)> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let is_new = match created {
        Ok(mut file) => {
            writeln!(file, "{}", random()?).with_context(|| format!("{}: cannot write the token", path.display()))?;
            true
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => Err(error).with_context(|| format!("{}: cannot create the token", path.display()))?,
    };
    Ok((read(path)?, is_new))
}

fn random() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok().context("cannot read random numbers from the kernel")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The hash of a token: comparing hashes takes the same time however much of a guess is right.
#[derive(Clone)]
pub struct Expected([u8; 32]);

impl Expected {
    pub fn of(token: &str) -> Self {
        Self(hash(token.as_bytes()))
    }

    /// Returns whether a header `authorization` has the token.
    pub fn is_in(&self, header: Option<&[u8]>) -> bool {
        let presented = header.and_then(|value| {
            let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
        });
        presented.is_some_and(|token| hash(token) == self.0)
    }
}

fn hash(token: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, token).as_ref());
    bytes
}
