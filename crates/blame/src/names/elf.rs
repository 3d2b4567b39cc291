//! The parts of an ELF file that are of use, read one by one, so that the size of the file does not matter.
//!
//! The file is another program's and may have been made to do harm: every number in it is checked before it is used,
//! and no more than [`Elf::open`] was given is ever read. It is read, not mapped: a mapped file that another process
//! truncates ends the process that reads the mapping.

use crate::memory::{u16_at, u32_at, u64_at};
use object::elf::{
    CompressionHeader64, ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, NT_GNU_BUILD_ID, PF_X, PT_LOAD, PT_NOTE, SHF_COMPRESSED,
    SHT_NOBITS, SHT_NOTE, STT_COMMON, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT,
};
use object::{CompressedData, CompressionFormat};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// A file of 64 bits in this machine's byte order.
pub struct Elf {
    file: File,
    length: u64,
    all_room: u64,
    /// Bytes that may be read still.
    room: Cell<u64>,
    is_short_of_room: Cell<bool>,
    pub segments: Vec<Segment>,
    sections: Vec<Section>,
    /// Their names.
    names: Vec<u8>,
}

/// A part that is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub address: u64,
    pub size: u64,
    pub offset: u64,
    /// Bytes of it that are in the file.
    file_size: u64,
    is_code: bool,
}

/// A section's header.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    pub address: u64,
    offset: u64,
    pub size: u64,
    link: u32,
}

/// A symbol, and where its name begins in its table of names.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    pub address: u64,
    pub size: u64,
    pub name: u32,
    pub is_code: bool,
}

const HEADER: u64 = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
/// Notes and links to debug files are short.
const SHORT: u64 = 64 << 10;

impl Elf {
    /// Reads the headers. `None` if it is not an ELF file that this machine could run.
    pub fn open(file: File, room: u64) -> Option<Self> {
        let length = file.metadata().ok()?.len();
        let mut elf = Self {
            file,
            length,
            all_room: room,
            room: Cell::new(room),
            is_short_of_room: Cell::new(false),
            segments: Vec::new(),
            sections: Vec::new(),
            names: Vec::new(),
        };
        let header = elf.read(0, HEADER)?;
        let (class, order) = (2, if cfg!(target_endian = "little") { 1 } else { 2 });
        if !header.starts_with(b"\x7fELF") || header[4] != class || header[5] != order {
            return None;
        }
        let table = |at: usize, size_at: usize, size: usize| {
            let (count, length) = (u16_at(&header, size_at + 2)?, u16_at(&header, size_at)?);
            (usize::from(length) == size).then_some((u64_at(&header, at)?, u64::from(count) * size as u64))
        };
        if let Some((offset, size)) = table(32, 54, SEGMENT) {
            let bytes = elf.read(offset, size)?;
            elf.segments = bytes.chunks_exact(SEGMENT).filter_map(segment).collect();
        }
        // A file without sections can be run, but has no names.
        if let Some((offset, size)) = table(40, 58, SECTION) {
            let bytes = elf.read(offset, size).unwrap_or_default();
            elf.sections = bytes.chunks_exact(SECTION).filter_map(section).collect();
            let names = usize::from(u16_at(&header, 62)?);
            let names = elf.sections.get(names).filter(|names| names.size <= 1 << 20).copied();
            elf.names = names.and_then(|names| elf.read(names.offset, names.size)).unwrap_or_default();
        }
        Some(elf)
    }

    /// Returns whether something was not read because of its size.
    pub fn is_short_of_room(&self) -> bool {
        self.is_short_of_room.get()
    }

    /// Bytes that may be read still.
    pub fn room(&self) -> u64 {
        self.room.get()
    }

    /// Bytes that were read, and kept as far as the caller keeps them.
    pub fn size_read(&self) -> u64 {
        self.all_room - self.room.get()
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| is_text(&self.names, section.name, name.as_bytes()))
    }

    /// Returns the offset in the file of code at this address; `None` if no segment with code has all of it.
    pub fn code_offset(&self, address: u64, size: u64) -> Option<u64> {
        let offset = |segment: &Segment| {
            let at = address.checked_sub(segment.address)?;
            let end = at.checked_add(size).filter(|end| segment.is_code && *end <= segment.file_size);
            end.and_then(|_| segment.offset.checked_add(at))
        };
        self.segments.iter().find_map(offset)
    }

    /// Returns a section's bytes, decompressed if need be; `None` if it has none in the file, or no room is left for
    /// them.
    pub fn bytes(&self, section: &Section) -> Option<Vec<u8>> {
        if section.kind == SHT_NOBITS {
            return None;
        }
        if section.flags & u64::from(SHF_COMPRESSED) == 0 {
            return self.read(section.offset, section.size);
        }
        const COMPRESSION: usize = size_of::<CompressionHeader64<object::Endianness>>();
        let stored = self.read(section.offset, section.size)?;
        let kind = u32_at(&stored, 0)?;
        let (uncompressed_size, data) = (u64_at(&stored, 8)?, stored.get(COMPRESSION..)?);
        self.charge(uncompressed_size)?;
        match kind {
            // This stops where the size that is said is reached.
            ELFCOMPRESS_ZLIB => {
                let data = CompressedData { format: CompressionFormat::Zlib, data, uncompressed_size };
                Some(data.decompress().ok()?.into_owned())
            }
            ELFCOMPRESS_ZSTD => unpacked(data, usize::try_from(uncompressed_size).ok()?),
            _ => None,
        }
    }

    /// Returns the symbols of a table that have a size and are code or data, and the names of them.
    pub fn symbols(&self, table: &str) -> Option<(Vec<Symbol>, Vec<u8>)> {
        let section = self.section(table)?;
        let names = self.sections.get(section.link as usize)?;
        self.charge(section.size)?;
        let bytes = self.bytes(section)?;
        let symbols = bytes.chunks_exact(SYMBOL).filter_map(symbol).collect();
        Some((symbols, self.bytes(names)?))
    }

    /// Returns the number that identifies this build.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.sections.iter().filter(|section| section.kind == SHT_NOTE && section.size <= SHORT);
        notes.filter_map(|section| self.read(section.offset, section.size)).find_map(|notes| build_id_in(&notes))
    }

    /// Returns the name of the file that has the debugging information, and that file's checksum.
    pub fn debug_link(&self) -> Option<(Vec<u8>, u32)> {
        let link = self.section(".gnu_debuglink").filter(|link| link.size <= SHORT)?;
        let bytes = self.read(link.offset, link.size)?;
        let name = text(&bytes, 0)?;
        Some((name.to_vec(), u32_at(&bytes, (name.len() + 1).next_multiple_of(4))?))
    }

    /// Returns the checksum of the whole file, as links to debug files have it.
    pub fn checksum(&self) -> io::Result<u32> {
        let (mut sum, mut at, mut piece) = (u32::MAX, 0, vec![0; 64 << 10]);
        loop {
            let read = self.file.read_at(&mut piece, at)?;
            if read == 0 {
                return Ok(!sum);
            }
            at += read as u64;
            for byte in &piece[..read] {
                sum = (sum >> 8) ^ CHECKSUMS[usize::from(sum as u8 ^ byte)];
            }
        }
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    fn charge(&self, bytes: u64) -> Option<()> {
        let left = self.room.get().checked_sub(bytes);
        self.is_short_of_room.set(self.is_short_of_room.get() || left.is_none());
        self.room.set(left?);
        Some(())
    }

    fn read(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        // If the file has become shorter in the meantime, reading fails.
        offset.checked_add(size).filter(|end| *end <= self.length)?;
        self.charge(size)?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

/// Unpacks frames of Zstandard, and no more of them than there is said to be.
fn unpacked(mut data: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size);
    // It ends: each decoder takes bytes, or refuses them.
    while !data.is_empty() && bytes.len() < size {
        let decoder = ruzstd::decoding::StreamingDecoder::new(&mut data).ok()?;
        decoder.take((size - bytes.len()) as u64).read_to_end(&mut bytes).ok()?;
    }
    (bytes.len() == size).then_some(bytes)
}

fn segment(bytes: &[u8]) -> Option<Segment> {
    (u32_at(bytes, 0)? == PT_LOAD).then_some(())?;
    let is_code = u32_at(bytes, 4)? & PF_X != 0;
    let (offset, address) = (u64_at(bytes, 8)?, u64_at(bytes, 16)?);
    Some(Segment { offset, address, size: u64_at(bytes, 40)?, file_size: u64_at(bytes, 32)?, is_code })
}

fn section(bytes: &[u8]) -> Option<Section> {
    Some(Section {
        name: u32_at(bytes, 0)?,
        kind: u32_at(bytes, 4)?,
        flags: u64_at(bytes, 8)?,
        address: u64_at(bytes, 16)?,
        offset: u64_at(bytes, 24)?,
        size: u64_at(bytes, 32)?,
        link: u32_at(bytes, 40)?,
    })
}

fn symbol(bytes: &[u8]) -> Option<Symbol> {
    let is_code = match bytes[4] & 0xf {
        STT_FUNC | STT_GNU_IFUNC => true,
        STT_OBJECT | STT_COMMON => false,
        _ => return None,
    };
    let (name, address, size) = (u32_at(bytes, 0)?, u64_at(bytes, 8)?, u64_at(bytes, 16)?);
    (name > 0 && size > 0).then_some(Symbol { address, size, name, is_code })
}

/// Returns the build ID by the headers of a loaded file; `read` returns bytes from an offset in the file. The file and the
/// memory that it was loaded into are read in the same way.
pub fn loaded_build_id(read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    const MOST_SEGMENTS: u16 = 256;
    let header = read(0, HEADER as usize)?;
    header.starts_with(b"\x7fELF").then_some(())?;
    let (at, count) = (u64_at(&header, 32)?, u16_at(&header, 56)?.min(MOST_SEGMENTS));
    let segments = read(at, usize::from(count) * SEGMENT)?;
    let notes = |segment: &[u8]| {
        let size = u64_at(segment, 32)?;
        (u32_at(segment, 0)? == PT_NOTE && size <= SHORT).then_some(())?;
        build_id_in(&read(u64_at(segment, 8)?, size as usize)?)
    };
    segments.chunks_exact(SEGMENT).find_map(notes)
}

fn build_id_in(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let [name, content] = [0, 4].map(|at| u32_at(notes, at).map(|length| length as usize));
        let (name, content, kind) = (name?, content?, u32_at(notes, 8)?);
        let begin = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let bytes = notes.get(begin..begin.checked_add(content)?)?;
        if kind == NT_GNU_BUILD_ID && notes.get(12..12 + name) == Some(b"GNU\0") {
            return (content > 1).then(|| bytes.to_vec());
        }
        notes = notes.get(begin.checked_add(content.checked_next_multiple_of(4)?)?..)?;
    }
}

/// Returns a build ID as tools print it.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The longest text that is read: each of a million symbols can have the same megabyte without an end as its name.
const LONGEST_TEXT: usize = 16 << 10;

/// Returns the text that begins there and ends with a NUL, or is cut off.
pub fn text(table: &[u8], at: u32) -> Option<&[u8]> {
    let rest = table.get(at as usize..)?;
    let rest = &rest[..rest.len().min(LONGEST_TEXT)];
    Some(&rest[..rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len())])
}

/// Returns whether this text begins there.
pub fn is_text(table: &[u8], at: u32, expected: &[u8]) -> bool {
    let rest = table.get(at as usize..).and_then(|rest| rest.strip_prefix(expected));
    rest.is_some_and(|rest| rest.first() == Some(&0))
}

/// CRC-32 as Ethernet has it, by byte.
static CHECKSUMS: [u32; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    // It ends: it counts to 256, and to eight for each.
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ 0xedb8_8320 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};
