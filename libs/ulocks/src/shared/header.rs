//! The header of a file of shared locks.

use super::plain::Plain;
use std::{fs, os::unix::fs::MetadataExt};

pub(super) const MAGIC: [u8; 8] = *b"ulocks\r\n";
pub(super) const FORMAT: u32 = 2;
/// Offset of the value: a separate page for the header would waste memory, a pair of cache lines does not.
pub(super) const HEADER: usize = 128;
/// Number of bytes of the type's name that are readable in the file; the checksum behind them covers the whole name.
const READABLE: usize = 56;

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) layout: u32,
    pub(super) size: u64,
    pub(super) align: u64,
    /// Identification of the boot of the machine, and of the pid and time namespaces.
    pub(super) world: [u8; 32],
    /// Type of the value: the beginning of its name, zeros, and a checksum of the whole name.
    pub(super) name: [u8; READABLE + 8],
}

impl Header {
    pub(super) fn of<T: Plain>(layout: u32) -> Self {
        let (size, align) = (size_of::<T>() as u64, align_of::<T>() as u64);
        Header { format: FORMAT, layout, size, align, world: world(), name: label(&T::name()) }
    }

    pub(super) fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.format.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.layout.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.size.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.align.to_ne_bytes());
        bytes[32..64].copy_from_slice(&self.world);
        bytes[64..].copy_from_slice(&self.name);
        bytes
    }

    /// Returns the header in `bytes`, or `None` if they do not start with the magic.
    pub(super) fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        (bytes[..8] == MAGIC).then(|| Header {
            format: word(8),
            layout: word(12),
            size: long(16),
            align: long(24),
            world: bytes[32..64].try_into().expect("32 bytes"),
            name: bytes[64..].try_into().expect("64 bytes"),
        })
    }

    /// Returns the readable part of the type's name. Any process may have written it, so control characters are
    /// escaped.
    pub(super) fn readable_name(&self) -> String {
        let text = self.name[..READABLE].split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).escape_debug().collect()
    }
}

fn label(name: &str) -> [u8; READABLE + 8] {
    let mut label = [0; READABLE + 8];
    let readable = name.len().min(READABLE);
    label[..readable].copy_from_slice(&name.as_bytes()[..readable]);
    label[READABLE..].copy_from_slice(&checksum(name.as_bytes()).to_ne_bytes());
    label
}

/// Returns the FNV-1a hash (Fowler, Noll and Vo, 1991), which distinguishes names with the same beginning and does
/// not resist an attacker.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the identification of the environment in which thread numbers and start times have the same meaning.
///
/// It consists of the boot, the pid namespace and the time namespace, whose offset is in every start time; zeros
/// where `/proc` does not provide them.
fn world() -> [u8; 32] {
    let mut world = [0; 32];
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u32> = boot.chars().filter_map(|c| c.to_digit(16)).collect();
    for (byte, pair) in world.iter_mut().zip(digits.chunks_exact(2).take(16)) {
        *byte = (pair[0] * 16 + pair[1]) as u8;
    }
    for (bytes, name) in world[16..].chunks_exact_mut(8).zip(["pid", "time"]) {
        let number = fs::metadata(format!("/proc/self/ns/{name}")).map_or(0, |namespace| namespace.ino());
        bytes.copy_from_slice(&number.to_ne_bytes());
    }
    world
}
