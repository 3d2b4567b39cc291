//! The options of a HotSpot virtual machine, read from its memory.
//!
//! An option can come from the command line, an environment variable, or one of several files. The virtual machine itself
//! has the values that result, in a table of flags, and exports a description of its tables for debuggers
//! (`gHotSpotVMStructs`, `vmStructs.hpp`). The process can have anything in its memory, so all numbers are bounded.

use crate::exported::addresses;
use crate::memory::{read, u64_at};
use crate::names::Mapping;
use std::collections::HashMap;

/// The options that decide what a virtual machine does when it receives SIGQUIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `-XX:+DisableAttachMechanism`: it prints a thread dump, whatever a client has prepared.
    pub disables_attaching: bool,
    /// `-Xrs`: it leaves the signal to the program, and opens the socket when it starts.
    pub leaves_signals: bool,
    /// Whether it gives its threads names that the kernel shows. Versions before 9 do not.
    pub names_threads: bool,
}

const MOST_ENTRIES: u64 = 16_384;
const MOST_FLAGS: u64 = 4_096;
const LARGEST_ENTRY: u64 = 256;
/// Bytes of a name that are compared: longer than each name that is looked for.
const LONGEST_NAME: usize = 32;

impl Options {
    /// Reads them; `pieces` are those of the library of the virtual machine. `None` if they are not found, as in a
    /// virtual machine that is not HotSpot.
    pub fn read(process: u32, pieces: &[Mapping]) -> Option<Self> {
        let memory = Memory { process, texts: HashMap::new() };
        let exported = addresses(
            process,
            pieces,
            [
                "gHotSpotVMStructs",
                "gHotSpotVMStructEntryTypeNameOffset",
                "gHotSpotVMStructEntryFieldNameOffset",
                "gHotSpotVMStructEntryOffsetOffset",
                "gHotSpotVMStructEntryAddressOffset",
                "gHotSpotVMStructEntryArrayStride",
                "gHotSpotVMTypes",
                "gHotSpotVMTypeEntryTypeNameOffset",
                "gHotSpotVMTypeEntrySizeOffset",
                "gHotSpotVMTypeEntryArrayStride",
            ],
        );
        let mut values = [0; 10];
        for (value, address) in values.iter_mut().zip(exported) {
            *value = memory.number(address?)?;
        }
        memory.options(values)
    }
}

/// The memory of a process, and the names that were read from it.
struct Memory {
    process: u32,
    texts: HashMap<u64, Option<Vec<u8>>>,
}

impl Memory {
    fn options(mut self, exported: [u64; 10]) -> Option<Options> {
        let [structs, of_type, of_field, of_offset, of_address, stride, types, of_name, of_size, type_stride] =
            exported;
        let (mut flags, mut count, mut name, mut value, mut names_threads) = (None, None, None, None, true);
        for entry in self.table(structs, stride, of_type)? {
            let type_name = self.text(u64_at(&entry, of_type as usize)?);
            // Older versions have the other name.
            if !matches!(type_name.as_deref(), Some(b"JVMFlag" | b"Flag")) {
                continue;
            }
            names_threads = type_name.as_deref() == Some(b"JVMFlag");
            let (offset, address) = (u64_at(&entry, of_offset as usize)?, u64_at(&entry, of_address as usize)?);
            match self.text(u64_at(&entry, of_field as usize)?).as_deref() {
                Some(b"flags") => flags = Some(address),
                Some(b"numFlags") => count = Some(address),
                Some(b"_name") => name = Some(offset),
                Some(b"_addr") => value = Some(offset),
                _ => {}
            }
        }
        let mut size = None;
        for entry in self.table(types, type_stride, of_name)? {
            if let Some(b"JVMFlag" | b"Flag") = self.text(u64_at(&entry, of_name as usize)?).as_deref() {
                size = u64_at(&entry, of_size as usize);
            }
        }
        let (first, count) = (self.number(flags?)?, self.number(count?)?);
        let size = size.filter(|size| *size <= LARGEST_ENTRY && count <= MOST_FLAGS)?;
        let mut all = vec![0; (size * count) as usize];
        self.bytes(first, &mut all)?;
        let (mut disables_attaching, mut leaves_signals) = (None, None);
        for flag in all.chunks_exact(size as usize) {
            let found = match self.text(u64_at(flag, name? as usize)?).as_deref() {
                Some(b"DisableAttachMechanism") => &mut disables_attaching,
                Some(b"ReduceSignalUsage") => &mut leaves_signals,
                _ => continue,
            };
            let mut byte = [0];
            self.bytes(u64_at(flag, value? as usize)?, &mut byte)?;
            *found = Some(byte != [0]);
        }
        Some(Options { disables_attaching: disables_attaching?, leaves_signals: leaves_signals?, names_threads })
    }

    /// Returns the entries of a table up to the first one without a name.
    fn table(&self, first: u64, stride: u64, of_name: u64) -> Option<Vec<Vec<u8>>> {
        const AT_ONCE: u64 = 128;
        if !(8..=LARGEST_ENTRY).contains(&stride) {
            return None;
        }
        let (mut entries, mut bytes) = (Vec::new(), vec![0; (stride * AT_ONCE) as usize]);
        while (entries.len() as u64) < MOST_ENTRIES {
            let from = first.checked_add(stride * entries.len() as u64)?;
            // The memory may end behind the table.
            let length = read(self.process, from, &mut bytes);
            if length < stride as usize {
                return None;
            }
            for entry in bytes[..length].chunks_exact(stride as usize) {
                if u64_at(entry, of_name as usize)? == 0 {
                    return Some(entries);
                }
                entries.push(entry.to_vec());
            }
        }
        None
    }

    /// Returns a text, cut to the length of the names that are looked for.
    fn text(&mut self, address: u64) -> Option<Vec<u8>> {
        let process = self.process;
        let found = self.texts.entry(address).or_insert_with(|| {
            let mut bytes = vec![0; LONGEST_NAME];
            let length = read(process, address, &mut bytes);
            let end = bytes[..length].iter().position(|byte| *byte == 0)?;
            bytes.truncate(end);
            Some(bytes)
        });
        found.clone()
    }

    fn number(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes)?;
        u64_at(&bytes, 0)
    }

    fn bytes(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        (read(self.process, address, bytes) == bytes.len()).then_some(())
    }
}
