//! The parser of a process's memory map, for the file that an address is in: without memory of the heap.

/// A line of the map is `start-end rwxp offset major:minor inode path`; these are its fields up to the inode.
const FIELDS: usize = 7;
/// The field of the permissions, of which the last letter is `s` for memory that processes share.
const PERMISSIONS: usize = 2;
const INODE: usize = 6;

/// Reads the map, one byte after the other, for the mapping of an address.
pub struct Maps {
    address: u64,
    fields: [u64; FIELDS],
    field: usize,
    is_shared: bool,
}

impl Maps {
    /// Begins to read.
    pub fn new(address: u64) -> Self {
        Self { address, fields: [0; FIELDS], field: 0, is_shared: false }
    }

    /// Takes the next byte. Returns the result once the mapping is read: the place of the address in all files as a hash,
    /// or `None` if the mapping is the process's own.
    pub fn next(&mut self, byte: u8) -> Option<Option<u64>> {
        if self.field >= FIELDS {
            if byte == b'\n' {
                *self = Self::new(self.address);
            }
            return None;
        }
        let is_end = match self.field {
            0 => byte == b'-',
            4 => byte == b':',
            _ => matches!(byte, b' ' | b'\n'),
        };
        if self.field == PERMISSIONS {
            self.is_shared = byte == b's' || is_end && self.is_shared;
        }
        if !is_end {
            let digit = u64::from((byte as char).to_digit(16).unwrap_or(0));
            let base = if self.field == INODE { 10 } else { 16 };
            self.fields[self.field] = self.fields[self.field].wrapping_mul(base).wrapping_add(digit);
            return None;
        }
        self.field += 1;
        if self.field < FIELDS {
            return None;
        }
        let ([start, end, _, offset, major, minor, inode], is_shared) = (self.fields, self.is_shared);
        if byte == b'\n' {
            *self = Self::new(self.address);
        }
        let is_it = (start..end).contains(&self.address);
        let file = mixed(mixed(major << 32 | minor, inode), offset.wrapping_add(self.address.wrapping_sub(start)));
        // The number of a System V segment, which is its inode, can be 0. Only memory without a file has no device.
        let has_file = (major, minor) != (0, 0) || inode != 0;
        is_it.then_some((is_shared && has_file).then_some(file))
    }
}

/// Returns a number made of two, of which each bit depends on all of theirs.
fn mixed(one: u64, other: u64) -> u64 {
    let sum = (one ^ other.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(other);
    let sum = (sum ^ sum >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let sum = (sum ^ sum >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    sum ^ sum >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "00400000-00401000 r-xp 00000000 08:01 77  /srv/a b\n\
                       7f0000000000-7f0000002000 rw-s 00001000 00:01 1031                       /dev/zero (deleted)\n\
                       7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n\
                       7f0000003000-7f0000005000 rw-s 00002000 00:01 1031                       /dev/zero (deleted)\n\
                       7f0000006000-7f0000007000 rw-s 00000000 00:01 0                          /SYSV00000000 (deleted)\n\
                       7f0000007000-7f0000008000 rw-s 00000000 00:00 0 \n";

    fn found(address: u64) -> Option<Option<u64>> {
        let mut maps = Maps::new(address);
        MAP.bytes().find_map(|byte| maps.next(byte))
    }

    #[test]
    fn shared_lock_is_known_by_its_file_and_its_place_there() {
        assert_eq!((found(0x40_0010), found(0x7f00_0000_2040), found(0x1000)), (Some(None), Some(None), None));
        let first = found(0x7f00_0000_0040).flatten().unwrap();
        assert_ne!(found(0x7f00_0000_0080).flatten().unwrap(), first);
        // The second page of the first mapping is the first of the other one.
        assert_eq!(found(0x7f00_0000_1040), found(0x7f00_0000_3040));
        // The first System V segment has the number 0.
        assert!(found(0x7f00_0000_6040).flatten().is_some());
        assert_eq!(found(0x7f00_0000_7040), Some(None));
    }
}
