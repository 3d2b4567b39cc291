//! Locks, and the data that they protect, in a file that several processes map.
//!
//! A file can contain any value whose all-zero bytes are valid and that has no pointers ([`Plain`]): the locks of
//! this crate in [`Shared`] scope, atomics, integers, and arrays of these. A new file is all zero: unlocked locks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ulocks::{Adaptive, Shared, shared::{Guarded, SharedMemory}};
//!
//! type Tally = Guarded<Adaptive<Shared>, u64>;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("tally");
//! // SAFETY: every process that uses this file does so as a `SharedMemory<Tally>`.
//! let tally = unsafe { SharedMemory::<Tally>::open_or_create(&path, 1)? };
//! tally.with(|total| *total += 1);
//! assert_eq!(tally.with(|total| *total), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Checks
//!
//! Opening checks that the file has the format of this crate, this version and layout, and a type of this name and
//! size. It also checks that the file was created since the last boot and in the same pid and time namespaces. Any
//! difference is an [`Error`]. The file appears under its name only when it is complete. Its blocks are allocated, so
//! that a full file system is an error at creation and not a fault later.
//!
//! # Limits of the checks
//!
//! After that, every process with write permission can change the file, and a reference to memory that other
//! processes write by other means is undefined behaviour in Rust. No check can prevent that, so opening or creating a
//! file is `unsafe`: the caller guarantees that no process does it. If a process does it nevertheless:
//!
//! - A process that overwrites a lock, or punches a hole under it, admits two threads, or keeps all threads out. A
//!   lock stores no address, and each value of its words is one that it can handle. It neither panics nor spins
//!   forever, attempts and calls with a timeout end, and calls that wait block.
//! - A process that truncates the file makes the next access of the others a SIGBUS. [`SharedMemory::check`] detects
//!   that; it may still happen between the check and the access. To share with untrusted processes, use [anonymous
//!   memory](SharedMemory::anonymous), or a memfd sealed with `F_SEAL_SHRINK`, instead of a file.

use crate::{
    Adaptive, AdaptiveRw, CalockSpin, Condvar, Count, FutexSem, Once, Patience, Pi, Robust, RwLock, RwLockFair, Shared,
    Ticket, UsemaSpin,
};
use rustix::{
    fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags},
    mm::{MapFlags, ProtFlags},
};
use std::{
    cell::UnsafeCell,
    fmt,
    fs::{self, File},
    io,
    ops::Deref,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize},
};

/// A value that may be in memory shared by processes.
///
/// It is [`Sync`], since other processes have it at the same time.
///
/// # Safety
///
/// - All-zero bytes are a valid value, with the meaning that a new file should have.
/// - The value contains no pointer, reference, handle or other item that is valid in one process only.
/// - The value need not be dropped, because it never is.
pub unsafe trait Plain: Sized + Sync {
    /// Returns the name of the type in the header of a file: programs that use different names do not open each
    /// other's files.
    ///
    /// The default is the type's name as this compiler writes it, without modules. Override it if programs of
    /// different compilers, or before and after renaming a type, use the same file.
    fn name() -> String {
        without_modules(std::any::type_name::<Self>())
    }
}

fn without_modules(name: &str) -> String {
    let parts = name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    parts.map(|part| part.rsplit_once("::").map_or(part, |(_, last)| last)).collect()
}

macro_rules! plain {
    ($([$($generics:tt)*] $type:ty = $name:expr),* $(,)?) => {
        $(
            // SAFETY: the type consists of plain memory words, zero is a valid value (for a lock: unlocked), and it
            // has no drop.
            unsafe impl<$($generics)*> Plain for $type {
                fn name() -> String {
                    $name.to_string()
                }
            }
        )*
    };
}

macro_rules! plain_numbers {
    ($($type:ident)*) => {
        plain! { $([] $type = stringify!($type)),* }
    };
}
plain_numbers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }
plain_numbers! { AtomicBool AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize AtomicI32 AtomicI64 }
// The statistics and the spin limit are not in the names: the former are in the size, the latter is not in the
// memory.
plain! {
    [C: Count] Adaptive<Shared, C> = "Adaptive",
    [C: Count, P: Patience] CalockSpin<Shared, C, P> = "Calock",
    [C: Count, P: Patience] UsemaSpin<Shared, C, P> = "Usema",
    [C: Count] Ticket<C> = "Ticket",
    [C: Count] Pi<Shared, C> = "Pi",
    [C: Count] Robust<Shared, C> = "Robust",
    [C: Count] AdaptiveRw<Shared, C> = "AdaptiveRw",
    [C: Count] RwLock<Shared, C> = "RwLock",
    [C: Count] RwLockFair<Shared, C> = "RwLockFair",
    [] FutexSem<Shared> = "FutexSem",
    [] Condvar<Shared> = "Condvar",
    [] Once<Shared> = "Once",
    [T: Plain, const N: usize] [T; N] = format!("[{}; {N}]", T::name()),
    [R: lock_api::RawMutex + Plain, T: Plain + Send] Guarded<R, T> = format!("Guarded<{}, {}>", R::name(), T::name()),
}

/// A lock and the data that it protects, laid out as in C, so that programs of different builds agree on it.
///
/// (The compiler chooses the order of the fields of `lock_api::Mutex`.)
#[derive(Debug, Default)]
#[repr(C)]
pub struct Guarded<R: lock_api::RawMutex, T> {
    lock: R,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only accessed while the lock is held, so by one thread at a time: `T: Send` is sufficient.
unsafe impl<R: lock_api::RawMutex + Sync, T: Send> Sync for Guarded<R, T> {}

impl<R: lock_api::RawMutex, T> Guarded<R, T> {
    /// Calls `work` with the value while holding the lock, and returns its result.
    pub fn with<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        struct Unlock<'a, R: lock_api::RawMutex>(&'a R, Option<R::Guard>);
        impl<R: lock_api::RawMutex> Drop for Unlock<'_, R> {
            fn drop(&mut self) {
                if let Some(guard) = self.1.take() {
                    // SAFETY: the lock was acquired with this guard, which is used once.
                    unsafe { self.0.unlock(guard) };
                }
            }
        }
        let _unlock = Unlock(&self.lock, Some(self.lock.lock()));
        // SAFETY: the lock is held until `_unlock` is dropped, after `work`, so no other reference to the value
        // exists.
        work(unsafe { &mut *self.value.get() })
    }

    /// Returns the lock.
    pub fn lock(&self) -> &R {
        &self.lock
    }
}

/// A value in memory that processes share: a file, or anonymous memory that forked children share.
///
/// The memory is unmapped when this is dropped. The value is not dropped, and the file remains.
///
/// It dereferences to `&T`, which is a guarantee about the other users of the memory. For anonymous memory this crate
/// can give it: only children have the memory, as the same `T`. For a file only the caller can, so opening one is
/// `unsafe`.
pub struct SharedMemory<T: Plain> {
    start: NonNull<u8>,
    length: usize,
    file: Option<(File, PathBuf)>,
    value: std::marker::PhantomData<T>,
}

// SAFETY: the mapping is a shared reference to a `T`, which other processes have as well. A `&T` may be sent to
// another thread, since `T: Plain` is `Sync`; unmapping is allowed on any thread.
unsafe impl<T: Plain> Send for SharedMemory<T> {}
// SAFETY: `&SharedMemory<T>` gives out only `&T`, and `T: Plain` is `Sync`.
unsafe impl<T: Plain> Sync for SharedMemory<T> {}

impl<T: Plain> SharedMemory<T> {
    const LENGTH: usize = {
        assert!(align_of::<T>() <= HEADER, "a value in shared memory may be aligned to 128 bytes at most");
        HEADER + size_of::<T>()
    };

    /// Maps zeroed memory that this process shares with the children that it forks from now on.
    ///
    /// # Errors
    ///
    /// Returns the error of `mmap`, for example if there is no memory.
    pub fn anonymous() -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                Self::LENGTH,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        Ok(Self::at(start, None))
    }

    /// Creates the file, zeroed except for its header, and maps it.
    ///
    /// # Errors
    ///
    /// Returns an [`Error::Io`] if the file exists (`AlreadyExists`) or cannot be created.
    ///
    /// # Safety
    ///
    /// As long as this value lives, every process must use the file only as a `SharedMemory` of a `T` with the layout
    /// of this one. No process may write to it, punch holes into it, truncate it or map it by other means. The file
    /// is created for its owner alone, so the programs of one user are responsible for that.
    pub unsafe fn create(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let path = path.as_ref();
        let file = Self::prepare(path, layout).map_err(|source| Error::Io { path: path.into(), source })?;
        Self::map(file, path)
    }

    /// Opens and maps a file that another process has created.
    ///
    /// `layout` is the program's own version number of `T`; increase it when `T` changes.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the file cannot be opened, or its header does not match.
    ///
    /// # Safety
    ///
    /// The requirements of [`create`](Self::create) apply. The header is checked, but a process that may write the
    /// file can forge it.
    pub unsafe fn open(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let path = path.as_ref();
        let file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|source| Error::Io { path: path.into(), source })?;
        Self::examine(&file, path, layout)?;
        Self::map(file, path)
    }

    /// Opens and maps the file, or creates it if it does not exist; if several processes do this at once, one creates
    /// it.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the file can neither be opened nor created, or its header does not match. A dangling
    /// symbolic link is an error (`NotFound`): a link is followed, but no file is created through it.
    ///
    /// # Safety
    ///
    /// The requirements of [`create`](Self::create) apply.
    pub unsafe fn open_or_create(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let path = path.as_ref();
        let is = |error: &Error, kind| matches!(error, Error::Io { source, .. } if source.kind() == kind);
        loop {
            // SAFETY: the contract of this function includes the contract of `open`.
            let missing = match unsafe { Self::open(path, layout) } {
                Err(error) if is(&error, io::ErrorKind::NotFound) => error,
                done => return done,
            };
            // SAFETY: the contract of this function includes the contract of `create`.
            match unsafe { Self::create(path, layout) } {
                Err(error) if is(&error, io::ErrorKind::AlreadyExists) => {}
                done => return done,
            }
            // The name exists and leads to no file. If it is not a link, another process created the file in between.
            if path.is_symlink() && !path.exists() {
                return Err(missing);
            }
        }
    }

    /// Checks that the file still has its size; after a truncation, an access raises SIGBUS.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Truncated`] if the file is too short, and [`Error::Io`] if its size cannot be read.
    pub fn check(&self) -> Result<()> {
        let Some((file, path)) = &self.file else { return Ok(()) };
        Self::check_length(file, path)
    }

    /// Creates a complete file without a name, and then links it to its name in one step.
    ///
    /// Hence no process sees an incomplete file, and a process that dies here leaves nothing behind.
    fn prepare(path: &Path, layout: u32) -> io::Result<File> {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?);
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, Self::LENGTH as u64)?;
        file.write_all_at(&Header::of::<T>(layout).bytes(), 0)?;
        let nameless = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        rustix::fs::linkat(CWD, nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        Ok(file)
    }

    fn examine(file: &File, path: &Path, layout: u32) -> Result<()> {
        let mut bytes = [0; HEADER];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Self::short(file, path, &bytes),
            Err(source) => return Err(Error::Io { path: path.into(), source }),
        }
        let found = Header::parse(&bytes).ok_or_else(|| Error::Foreign { path: path.into() })?;
        let wanted = Header::of::<T>(layout);
        if found.format != wanted.format {
            return Err(Error::Format { path: path.into(), found: found.format });
        }
        if (found.layout, found.size, found.align) != (wanted.layout, wanted.size, wanted.align) {
            return Err(Error::Layout {
                path: path.into(),
                found_layout: found.layout,
                found_size: found.size,
                layout,
                size: wanted.size,
            });
        }
        if found.name != wanted.name {
            return Err(Error::Type { path: path.into(), found: found.readable_name(), wanted: T::name() });
        }
        if found.world != wanted.world {
            return Err(Error::Stale { path: path.into() });
        }
        Self::check_length(file, path)
    }

    /// Returns the error for a file that is too short for a header: truncated, if it begins with the magic.
    fn short(file: &File, path: &Path, bytes: &[u8; HEADER]) -> Result<()> {
        if bytes[..8] == MAGIC { Self::check_length(file, path) } else { Err(Error::Foreign { path: path.into() }) }
    }

    fn check_length(file: &File, path: &Path) -> Result<()> {
        let found = file.metadata().map_err(|source| Error::Io { path: path.into(), source })?.len();
        let expected = Self::LENGTH as u64;
        if found < expected { Err(Error::Truncated { path: path.into(), found, expected }) } else { Ok(()) }
    }

    fn map(file: File, path: &Path) -> Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory. The file is long
        // enough.
        let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), Self::LENGTH, protection, flags, &file, 0) };
        let start = start.map_err(|error| Error::Io { path: path.into(), source: error.into() })?;
        Ok(Self::at(start, Some((file, path.into()))))
    }

    fn at(start: *mut std::ffi::c_void, file: Option<(File, PathBuf)>) -> Self {
        let start = NonNull::new(start.cast()).expect("the kernel maps nothing at 0");
        SharedMemory { start, length: Self::LENGTH, file, value: std::marker::PhantomData }
    }
}

impl<T: Plain> Deref for SharedMemory<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value begins after the header, within the mapping. It is aligned: the mapping to a page, the
        // header to 128 bytes, and `T` to at most that. Its bytes were zero, which is a valid `T`, and since then
        // they were changed only through `&T`: for a file, its opener has guaranteed that; only children have
        // anonymous memory.
        unsafe { self.start.add(HEADER).cast::<T>().as_ref() }
    }
}

impl<T: Plain> Drop for SharedMemory<T> {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` or `anonymous` made, and no reference outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

impl<T: Plain> fmt::Debug for SharedMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.file.as_ref().map(|(_, path)| path);
        f.debug_struct("SharedMemory").field("path", &path).field("length", &self.length).finish_non_exhaustive()
    }
}

const MAGIC: [u8; 8] = *b"ulocks\r\n";
const FORMAT: u32 = 2;
/// Offset of the value: a separate page for the header would waste memory, a pair of cache lines does not.
const HEADER: usize = 128;
/// Number of bytes of the type's name that are readable in the file; the checksum behind them covers the whole name.
const READABLE: usize = 56;

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    format: u32,
    layout: u32,
    size: u64,
    align: u64,
    /// Identification of the boot of the machine, and of the pid and time namespaces.
    world: [u8; 32],
    /// Type of the value: the beginning of its name, zeros, and a checksum of the whole name.
    name: [u8; READABLE + 8],
}

impl Header {
    fn of<T: Plain>(layout: u32) -> Self {
        let (size, align) = (size_of::<T>() as u64, align_of::<T>() as u64);
        Header { format: FORMAT, layout, size, align, world: world(), name: label(&T::name()) }
    }

    fn bytes(&self) -> [u8; HEADER] {
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
    fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
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
    fn readable_name(&self) -> String {
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

/// A reason why a file of shared locks cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The file does not begin with the signature of these files.
    #[error("{path}: not a file of shared locks", path = path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another version of this library created the file.
    #[error("{path}: made by format version {found}; this program knows version {FORMAT}", path = path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Format version of the file.
        found: u32,
    },
    /// The layout of the value in the file differs from the one that this program expects.
    #[error(
        "{path}: holds layout {found_layout} of {found_size} bytes, this program wants layout {layout} of {size} bytes",
        path = path.display()
    )]
    Layout {
        /// Path of the file.
        path: PathBuf,
        /// Layout number in the file.
        found_layout: u32,
        /// Size of the value in bytes, as recorded in the file.
        found_size: u64,
        /// Expected layout number.
        layout: u32,
        /// Expected size in bytes.
        size: u64,
    },
    /// The file contains a value of another type, though of the same size.
    #[error("{path}: holds a {found}, this program wants a {wanted}", path = path.display())]
    Type {
        /// Path of the file.
        path: PathBuf,
        /// Beginning of the name of the type in the file.
        found: String,
        /// Name of the expected type.
        wanted: String,
    },
    /// The file is shorter than its header records.
    #[error("{path}: truncated: {found} bytes of {expected}", path = path.display())]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file in bytes.
        found: u64,
        /// Expected length in bytes.
        expected: u64,
    },
    /// The file was created before the last boot of the machine, or in another pid or time namespace: the threads
    /// that its locks name do not exist here.
    #[error(
        "{path}: created before the last boot, or in another pid or time namespace; remove it if no process uses it",
        path = path.display()
    )]
    Stale {
        /// Path of the file.
        path: PathBuf,
    },
}

/// A result whose error states the problem and the file.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_contain_no_modules() {
        assert_eq!(<Guarded<Robust<Shared>, [u64; 2]>>::name(), "Guarded<Robust, [u64; 2]>");
        assert_eq!(without_modules("one::Pair<two::three::Lock, [u64; 2]>"), "Pair<Lock, [u64; 2]>");
    }
}
