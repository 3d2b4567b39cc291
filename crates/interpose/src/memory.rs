//! The library's bytes, and the memory that it records into.

use crate::layout::{Header, Region};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::Relaxed;

/// Why there is none.
const MISSING: &str = "this contend was built without the library: the build found no rust-lld, or no standard \
                       library of the target for the GNU C library";

/// The library that programs of the GNU C library load: write it to a file and name that in `LD_PRELOAD`. Empty where
/// it could not be built.
pub static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libinterpose.so"));

/// The variable that names the memory's file to the library.
pub const PLACE: &str = "CONTEND_TRACE_MEMORY";

/// How much is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing: what is left is what being in the way costs.
    Nothing,
    /// Every wait, and one hold in 64.
    Sampled,
    /// Every wait and every hold.
    Full,
    /// Nothing; but the sections of some locks are virtually shorter.
    WhatIf = Header::WHAT_IF as isize,
}

/// A fresh memory, which has no name: it goes when the last who has it goes, however that ends.
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
    /// One for a program that is to be watched at this level. `clock` says why the CPU's counter cannot be trusted, if
    /// it cannot: the library then asks the kernel for the time.
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn new(level: Level, clock: Option<&str>) -> io::Result<Self> {
        let file = anonymous_file(c"contend-trace", 0)?;
        file.set_len(size_of::<Region>() as u64)?;
        // The watched program has the file too. If it made the file shorter, reading the memory would end contend.
        seal(&file, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL)?;
        let inode = file.metadata()?.ino();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing; the file is as long as the
        // region.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Region>(), protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = Self { file, inode, region: start.cast() };
        let header = &memory.region().header;
        header.level.store(level as u32, Relaxed);
        header.clock.store(if clock.is_none() { 1 } else { 2 }, Relaxed);
        header.magic.store(Header::MAGIC, Relaxed);
        Ok(memory)
    }

    /// The number by which memory maps of processes that have it name its file.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// What was recorded so far.
    pub fn region(&self) -> &Region {
        // SAFETY: it is mapped as long as this lives, aligned to a page, and all of it is atomics, for which any bytes
        // are values.
        unsafe { &*self.region }
    }

    /// The name of its file for processes that this one starts.
    pub fn path(&self) -> String {
        path_of(&self.file)
    }

    /// [`LIBRARY`] as a file without a name, and the path by which processes that this one starts find it.
    ///
    /// # Errors
    /// The system gives no memory, or allows no program in such a file.
    pub fn library() -> io::Result<(File, String)> {
        if LIBRARY.is_empty() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, MISSING));
        }
        // Kernels before 6.3 do not know the flag, and need none.
        let file = anonymous_file(c"contend-interpose", libc::MFD_EXEC)
            .or_else(|_| anonymous_file(c"contend-interpose", 0))?;
        (&file).write_all(LIBRARY)?;
        // Whatever the program starts loads it as well.
        seal(&file, libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL)?;
        let path = path_of(&file);
        Ok((file, path))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and nobody borrows from what is dropped.
        unsafe { libc::munmap(self.region.cast_mut().cast(), size_of::<Region>()) };
    }
}

fn anonymous_file(name: &std::ffi::CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: the name ends with a NUL, and the call takes nothing else by pointer.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), flags | libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Forbids changes of a file for good.
fn seal(file: &File, seals: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Through this process, so that the other has no descriptor more than it would have: not one to close, or to count.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}
