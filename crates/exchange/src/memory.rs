//! The library's bytes, and the memory for its counts.

use super::names::Left;
use crate::shared::memory_file::{anonymous_file, library_file, map_shared, path_of, unmap};
use std::fs::File;
use std::io;

/// The library that programs of the GNU C library load: write it to a file and name that in `LD_PRELOAD`.
///
/// Empty where it could not be built.
pub static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libulocks_pthread.so"));

/// Returns [`LIBRARY`] as a file without a name, and the path by which child processes find it.
pub fn library() -> io::Result<(File, String)> {
    let file = library_file(c"libulocks_pthread.so", LIBRARY)?;
    let path = path_of(&file);
    Ok((file, path))
}

/// New memory for counts.
///
/// It has no name, and disappears when the last process that has it ends.
pub struct Counts {
    file: File,
    left: *const Left,
}

// SAFETY: the counts are atomics, and stay mapped while this value lives.
unsafe impl Send for Counts {}
// SAFETY: the counts are atomics, which several threads may read and write at the same time.
unsafe impl Sync for Counts {}

impl Counts {
    /// Creates counts that are all 0.
    pub fn new() -> io::Result<Self> {
        let file = anonymous_file(c"ulocks-pthread-counts", 0)?;
        let left = map_shared(&file)?;
        Ok(Self { file, left })
    }

    /// Returns the counts so far.
    pub fn left(&self) -> &Left {
        // SAFETY: the memory is mapped as long as this value lives, is aligned to a page, and any bytes are valid
        // atomics.
        unsafe { &*self.left }
    }

    /// Returns the name of its file for child processes.
    pub fn path(&self) -> String {
        path_of(&self.file)
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped as this type, and nothing borrows from a dropped value.
        unsafe { unmap(self.left) };
    }
}
