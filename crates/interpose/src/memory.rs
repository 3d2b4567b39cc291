//! The library's bytes, and the memory for its records.

use crate::layout::{Header, Region};
use crate::shared::memory_file::{anonymous_file, library_file, map_shared, path_of, unmap};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::Relaxed;

/// The library that programs of the GNU C library load: write it to a file and name that in `LD_PRELOAD`. Empty where
/// it could not be built.
pub static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libinterpose.so"));

/// The variable that names the memory's file to the library.
pub const PLACE: &str = "CONTEND_TRACE_MEMORY";

/// The level of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing: only the cost of the interposition remains.
    Nothing,
    /// Every wait, and one hold in 64.
    Sampled,
    /// Every wait and every hold.
    Full,
    /// Nothing; but the sections of some locks are virtually shorter.
    WhatIf = Header::WHAT_IF as isize,
    /// Every wait and every hold, and threads are held between two locks.
    Confirm = Header::CONFIRM as isize,
}

/// Fresh memory. It has no name, and disappears when the last process that has it ends.
pub struct Memory {
    file: File,
    inode: u64,
    region: *const Region,
}

// SAFETY: the region is made of atomics only, and stays mapped while this lives.
unsafe impl Send for Memory {}
// SAFETY: the region is made of atomics only, which threads may read and write at once.
unsafe impl Sync for Memory {}

impl Memory {
    /// Creates the memory for a program that is to be watched at this level. `clock` says why the CPU's counter cannot
    /// be trusted, if it cannot: the library then reads the time from the kernel.
    pub fn new(level: Level, clock: Option<&str>) -> io::Result<Self> {
        let file = anonymous_file(c"contend-trace", 0)?;
        let region = map_shared(&file)?;
        let inode = file.metadata()?.ino();
        let memory = Self { file, inode, region };
        let header = &memory.region().header;
        header.level.store(level as u32, Relaxed);
        header.clock.store(if clock.is_none() { 1 } else { 2 }, Relaxed);
        header.magic.store(Header::MAGIC, Relaxed);
        Ok(memory)
    }

    /// Returns the number by which memory maps of processes that have it name its file.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Returns the data recorded so far.
    pub fn region(&self) -> &Region {
        // SAFETY: the region is mapped as long as this lives, aligned to a page, and all of it is atomics, for which
        // any bytes are values.
        unsafe { &*self.region }
    }

    /// Returns the name of its file for processes that this one starts.
    pub fn path(&self) -> String {
        path_of(&self.file)
    }

    /// Returns [`LIBRARY`] as a file without a name, and the path by which processes that this one starts find it.
    pub fn library() -> io::Result<(File, String)> {
        let file = library_file(c"contend-interpose", LIBRARY)?;
        let path = path_of(&file);
        Ok((file, path))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the region was mapped as this type, and nothing borrows from a dropped value.
        unsafe { unmap(self.region) };
    }
}
