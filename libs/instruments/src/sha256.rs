//! The SHA-256 hash of a file (FIPS 180-4), by which a record identifies the measured program or library.
//!
//! `sha256sum FILE` prints the same value. The implementation is part of this crate, since a package for it depends
//! on six others.

use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const BLOCK: usize = 64;

/// Fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// More would delay the start of a program by more than a second.
const MOST_BYTES: u64 = 128 << 20;

/// The device, the inode, the length, and the times of the last changes of a file.
type Version = (u64, u64, u64, [(i64, i64); 2]);

/// The hashes of the files that were read. Hundreds of processes may have one program.
static KNOWN: Mutex<BTreeMap<Version, String>> = Mutex::new(BTreeMap::new());

/// Returns the hash of a file's content, in hexadecimal digits.
///
/// A file that has not changed is read once.
///
/// # Errors
///
/// Returns an error if the file cannot be read, is not a regular file, or has more than 128 MiB.
///
/// # Examples
///
/// ```
/// let file = std::env::temp_dir().join(format!("sha256-{}", std::process::id()));
/// std::fs::write(&file, "abc")?;
/// let hash = instruments::sha256::of_file(&file)?;
/// std::fs::remove_file(&file)?;
/// assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn of_file(path: &Path) -> io::Result<String> {
    // Opening a FIFO would wait for a writer, and a device has no end.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return Err(io::Error::other("not a regular file of at most 128 MiB"));
    }
    let times = [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())];
    let version = (found.dev(), found.ino(), found.len(), times);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hash) = known().get(&version) {
        return Ok(hash.clone());
    }
    let hash = of(file.take(MOST_BYTES))?;
    known().insert(version, hash.clone());
    Ok(hash)
}

fn of(mut content: impl Read) -> io::Result<String> {
    // The fractional parts of the square roots of the first eight primes.
    let mut state: [u32; 8] =
        [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    let (mut buffer, mut bytes) = (Vec::new(), 0_u64);
    loop {
        buffer.clear();
        let read = content.by_ref().take(1 << 16).read_to_end(&mut buffer)?;
        bytes += read as u64;
        if read < 1 << 16 {
            break;
        }
        buffer.chunks_exact(BLOCK).for_each(|block| add(&mut state, block));
    }
    buffer.push(0x80);
    let length_at = (buffer.len() + size_of::<u64>()).next_multiple_of(BLOCK) - size_of::<u64>();
    buffer.resize(length_at, 0);
    buffer.extend((bytes * 8).to_be_bytes());
    buffer.chunks_exact(BLOCK).for_each(|block| add(&mut state, block));
    Ok(state.iter().map(|word| format!("{word:08x}")).collect())
}

fn add(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for at in 16..words.len() {
        let (two_before, fifteen_before) = (words[at - 2], words[at - 15]);
        let early = fifteen_before.rotate_right(7) ^ fifteen_before.rotate_right(18) ^ (fifteen_before >> 3);
        let late = two_before.rotate_right(17) ^ two_before.rotate_right(19) ^ (two_before >> 10);
        words[at] = words[at - 16].wrapping_add(early).wrapping_add(words[at - 7]).wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, round) in words.into_iter().zip(ROUNDS) {
        let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(sum).wrapping_add(choice).wrapping_add(round).wrapping_add(word);
        let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = sum.wrapping_add(majority);
        [h, g, f, e, d, c, b, a] = [g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second)];
    }
    for (word, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_more_than_the_limit_is_not_read() {
        let path = std::env::temp_dir().join(format!("sha256-sparse-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        let found = of_file(&path);
        file.set_len(0).unwrap();
        let empty = of_file(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(found.is_err());
        assert_eq!(empty.unwrap(), of(&b""[..]).unwrap());
    }

    /// The examples of the standard, and lengths near the ends of a block and of a read.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let of = |text: &str| of(text.as_bytes()).unwrap();
        assert_eq!(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(of(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(of(&"a".repeat(1_000_000)), million);
        let full = "de2f256064a0af797747c2b97505dc0b9f3df0de4f489eac731c23ae9ca9cc31";
        assert_eq!(of(&"\0".repeat(1 << 16)), full);
    }
}
