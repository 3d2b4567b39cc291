//! The library's bytes, and the memory that it counts into.

use crate::counts::Left;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

/// Why there is none.
const MISSING: &str = "this contend was built without the library: the build found no rust-lld, or no standard \
                       library of the target for the GNU C library";

/// The library that programs of the GNU C library load: write it to a file and name that in `LD_PRELOAD`. Empty where
/// it could not be built.
pub static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libulocks_pthread.so"));

/// [`LIBRARY`] as a file without a name, and the path by which processes that this one starts find it.
///
/// # Errors
/// The system gives no memory, or allows no program in such a file.
pub fn library() -> io::Result<(File, String)> {
    if LIBRARY.is_empty() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, MISSING));
    }
    // Kernels before 6.3 do not know the flag, and need none.
    let file = anonymous_file(c"libulocks_pthread.so", libc::MFD_EXEC)
        .or_else(|_| anonymous_file(c"libulocks_pthread.so", 0))?;
    (&file).write_all(LIBRARY)?;
    let path = path_of(&file);
    Ok((file, path))
}

/// Fresh memory for counts, which has no name: it goes when the last who has it goes, however that ends.
pub struct Counts {
    file: File,
    left: *const Left,
}

// SAFETY: it is made of atomics only, and stays mapped while this lives.
unsafe impl Send for Counts {}
// SAFETY: as above.
unsafe impl Sync for Counts {}

impl Counts {
    /// All of them 0.
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn new() -> io::Result<Self> {
        let file = anonymous_file(c"ulocks-pthread-counts", 0)?;
        file.set_len(size_of::<Left>() as u64)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing; the file is long enough.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), size_of::<Left>(), protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file, left: start.cast() })
    }

    /// What was counted so far.
    pub fn left(&self) -> &Left {
        // SAFETY: it is mapped as long as this lives, aligned to a page, and atomics are values whatever their bytes.
        unsafe { &*self.left }
    }

    /// The name of its file for processes that this one starts.
    pub fn path(&self) -> String {
        path_of(&self.file)
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and nobody borrows from what is dropped.
        unsafe { libc::munmap(self.left.cast_mut().cast(), size_of::<Left>()) };
    }
}

fn anonymous_file(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: the name ends with a NUL, and the call takes nothing else by pointer.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), flags | libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Through this process, so that the other has no descriptor more than it would have.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}
