//! Files in memory without a name, for a preloaded library and for what it shares with contend. The crate `exchange`
//! uses this file, too.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

/// The reason why a library is empty.
const MISSING: &str = "this contend was built without the library: the build found no rust-lld, or no standard \
                       library of the target for the GNU C library";

/// Makes an empty file. It disappears when the last process that has it ends.
pub fn anonymous_file(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: the name ends with a NUL, and the call takes no other pointer.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), flags | libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Makes a file with the bytes of a library. No process can change it any more: whatever a program starts loads it,
/// too.
pub fn library_file(name: &CStr, bytes: &[u8]) -> io::Result<File> {
    if bytes.is_empty() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, MISSING));
    }
    // Kernels before 6.3 do not know the flag, and need none.
    let file = anonymous_file(name, libc::MFD_EXEC).or_else(|_| anonymous_file(name, 0))?;
    (&file).write_all(bytes)?;
    seal(&file, libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL)?;
    Ok(file)
}

/// Maps a file of the size of a `T`, all of it zeros. A program that has the file cannot make it shorter, which would
/// end contend when it reads it.
pub fn map_shared<T>(file: &File) -> io::Result<*const T> {
    file.set_len(size_of::<T>() as u64)?;
    seal(file, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL)?;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing; the file is as long as a `T`.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>(), protection, flags, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// Undoes [`map_shared`].
///
/// # Safety
/// The pointer is the result of `map_shared::<T>`, and nothing borrows from it.
pub unsafe fn unmap<T>(start: *const T) {
    // SAFETY: the mapping has this size, and by this function's contract nothing borrows from it.
    unsafe { libc::munmap(start.cast_mut().cast(), size_of::<T>()) };
}

/// Returns the path of a file for other processes: through this process, so that a program has no descriptor more than
/// it would have otherwise.
pub fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Forbids changes of a file for good.
fn seal(file: &File, seals: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
