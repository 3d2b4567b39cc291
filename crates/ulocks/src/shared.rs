//! Locks, and the data they protect, in a file that several processes map.
//!
//! Any value whose all-zero bytes are valid and that holds no pointers can live there ([`Plain`]): the locks of this
//! crate in [`Shared`] scope, atomics, integers, arrays of these. A fresh file is all zero: unlocked locks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ulocks::{Adaptive, Shared, shared::{Guarded, SharedMemory}};
//!
//! type Tally = Guarded<Adaptive<Shared>, u64>;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("tally");
//! let tally = SharedMemory::<Tally>::open_or_create(&path, 1)?;
//! tally.with(|total| *total += 1);
//! assert_eq!(tally.with(|total| *total), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked, and what cannot be
//! Opening checks that the file is one of these, of this version and layout, of the right size, made since the machine
//! was started and in the same pid namespace: anything else is an [`Error`]. The file appears under its name complete
//! or not at all, and its blocks are allocated, so that a full file system is an error too and not a fault later.
//!
//! After that the file belongs to everybody who may write it. Two things no check can prevent:
//!
//! - A process that overwrites a lock, or punches a hole under it, lets two threads in. No address is stored, so it
//!   cannot crash the others through the locks.
//! - A process that truncates the file makes the next access of the others a SIGBUS. [`SharedMemory::check`] says
//!   whether it has happened; between check and access it may still happen. Who shares with strangers shares
//!   [anonymous memory](SharedMemory::anonymous), or a memfd sealed with `F_SEAL_SHRINK`, instead of a file.

use crate::{
    Adaptive, CalockSpin, Condvar, Count, FutexSem, Once, Patience, Pi, Robust, RwLock, RwLockFair, Shared, Ticket,
    UsemaSpin,
};
use rustix::{
    fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags},
    mm::{MapFlags, ProtFlags},
};
use std::{
    cell::UnsafeCell,
    fmt, fs,
    fs::File,
    io,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::atomic,
};

/// A value that may lie in memory shared by processes.
///
/// # Safety
/// - All-zero bytes are a valid value, with the meaning that a fresh file should have.
/// - It holds no pointer, reference, handle or other thing that means something in one process only.
/// - Dropping it is not needed: it never happens.
pub unsafe trait Plain: Sized {}

macro_rules! plain {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {
        $(
            // SAFETY: plain words, zero is a value of it (of a lock: the free one), and it has no drop.
            unsafe impl<$($generics)*> Plain for $type {}
        )*
    };
}
plain! {
    [] u8, [] u16, [] u32, [] u64, [] usize, [] i8, [] i16, [] i32, [] i64, [] isize, [] f32, [] f64,
    [] atomic::AtomicBool, [] atomic::AtomicU8, [] atomic::AtomicU16, [] atomic::AtomicU32, [] atomic::AtomicU64,
    [] atomic::AtomicUsize, [] atomic::AtomicI32, [] atomic::AtomicI64,
    [C: Count] Adaptive<Shared, C>, [C: Count, P: Patience] CalockSpin<Shared, C, P>,
    [C: Count, P: Patience] UsemaSpin<Shared, C, P>, [C: Count] Ticket<C>, [C: Count] Pi<Shared, C>,
    [C: Count] Robust<Shared, C>, [C: Count] RwLock<Shared, C>, [C: Count] RwLockFair<Shared, C>,
    [] FutexSem<Shared>, [] Condvar<Shared>, [] Once<Shared>,
    [T: Plain, const N: usize] [T; N],
    [R: lock_api::RawMutex + Plain, T: Plain] Guarded<R, T>,
}

/// A lock and what it protects, laid out as in C, so that programs of different builds agree on it. (The fields of
/// `lock_api::Mutex` are in whatever order a compiler chooses.)
#[derive(Debug, Default)]
#[repr(C)]
pub struct Guarded<R: lock_api::RawMutex, T> {
    lock: R,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached with the lock held, so by one thread at a time: `T` must bear that it changes.
unsafe impl<R: lock_api::RawMutex + Sync, T: Send> Sync for Guarded<R, T> {}

impl<R: lock_api::RawMutex, T> Guarded<R, T> {
    /// Does something with the value while holding the lock.
    pub fn with<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        struct Unlock<'a, R: lock_api::RawMutex>(&'a R, Option<R::Guard>);
        impl<R: lock_api::RawMutex> Drop for Unlock<'_, R> {
            fn drop(&mut self) {
                if let Some(guard) = self.1.take() {
                    // SAFETY: the lock was taken with this guard, which is used once.
                    unsafe { self.0.unlock(guard) };
                }
            }
        }
        let _unlock = Unlock(&self.lock, Some(self.lock.lock()));
        // SAFETY: the lock is held until `_unlock` is dropped, after `work`.
        work(unsafe { &mut *self.value.get() })
    }

    /// The lock itself.
    pub fn lock(&self) -> &R {
        &self.lock
    }
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system said no.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin as these files do.
    #[error("{path}: not a file of shared locks", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was made by another version of this library.
    #[error("{path}: made by format version {found}; this program knows version {FORMAT}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file holds something else than this program wants to see in it.
    #[error(
        "{path}: holds layout {found_layout} of {found_size} bytes, this program wants layout {layout} of {size} bytes",
        path = path.display()
    )]
    Layout {
        /// The file.
        path: PathBuf,
        /// The layout number in it.
        found_layout: u32,
        /// The size that it says its value has.
        found_size: u64,
        /// The layout number wanted.
        layout: u32,
        /// The size wanted.
        size: u64,
    },
    /// The file is shorter than it says.
    #[error("{path}: truncated: {found} bytes of {expected}", path = path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that it should have.
        expected: u64,
    },
    /// The file is from before the machine was started, or from another pid namespace: its locks name threads that
    /// mean nothing here.
    #[error(
        "{path}: left from before the last boot, or made in another pid namespace; remove it if nobody uses it",
        path = path.display()
    )]
    Stale {
        /// The file.
        path: PathBuf,
    },
}

/// A result whose error says what is wrong with which file.
pub type Result<T> = std::result::Result<T, Error>;

const MAGIC: [u8; 8] = *b"ulocks\r\n";
const FORMAT: u32 = 1;
/// The value begins here: a page that no value shares with the header would be too much, a cache line pair is not.
const HEADER: usize = 128;

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    format: u32,
    layout: u32,
    size: u64,
    align: u64,
    /// Of the machine since it was started, and of the pid namespace.
    world: [u8; 24],
}

impl Header {
    fn of<T>(layout: u32) -> Self {
        Header { format: FORMAT, layout, size: size_of::<T>() as u64, align: align_of::<T>() as u64, world: world() }
    }

    fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.format.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.layout.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.size.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.align.to_ne_bytes());
        bytes[32..56].copy_from_slice(&self.world);
        bytes
    }

    /// `None` without the magic.
    fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        (bytes[..8] == MAGIC).then(|| Header {
            format: word(8),
            layout: word(12),
            size: long(16),
            align: long(24),
            world: bytes[32..56].try_into().expect("24 bytes"),
        })
    }
}

/// What must be the same for thread numbers to mean the same. Where `/proc` does not tell, zeros.
fn world() -> [u8; 24] {
    let mut world = [0; 24];
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u32> = boot.chars().filter_map(|c| c.to_digit(16)).collect();
    for (byte, pair) in world.iter_mut().zip(digits.chunks_exact(2).take(16)) {
        *byte = (pair[0] * 16 + pair[1]) as u8;
    }
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino());
    world[16..].copy_from_slice(&namespace.to_ne_bytes());
    world
}

/// A value in memory that processes share: a file, or anonymous memory that forked children share.
///
/// It is unmapped when dropped. The value is not dropped, and the file stays.
pub struct SharedMemory<T: Plain> {
    start: NonNull<u8>,
    length: usize,
    file: Option<(File, PathBuf)>,
    value: std::marker::PhantomData<T>,
}

// SAFETY: it is a shared reference to a T that others have as well: it may go where a `&T` may.
unsafe impl<T: Plain + Sync> Send for SharedMemory<T> {}
// SAFETY: as above.
unsafe impl<T: Plain + Sync> Sync for SharedMemory<T> {}

impl<T: Plain> SharedMemory<T> {
    const LENGTH: usize = {
        assert!(align_of::<T>() <= HEADER, "a value in shared memory may be aligned to 128 bytes at most");
        HEADER + size_of::<T>()
    };

    /// Memory that this process shares with the children that it forks from now on. All zero.
    ///
    /// # Errors
    /// No memory.
    pub fn anonymous() -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
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

    /// Makes the file, all zero but for its header.
    ///
    /// # Errors
    /// The file exists (`AlreadyExists`), or cannot be made.
    pub fn create(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let path = path.as_ref();
        let file = Self::prepare(path, layout).map_err(|source| Error::Io { path: path.into(), source })?;
        Self::map(file, path)
    }

    /// Opens the file that another process has made.
    ///
    /// `layout` is the program's own number for what `T` is; raise it when `T` changes.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn open(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let path = path.as_ref();
        let file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|source| Error::Io { path: path.into(), source })?;
        Self::examine(&file, path, layout)?;
        Self::map(file, path)
    }

    /// Opens the file, or makes it if there is none. Of several processes that do this at once, one makes it.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn open_or_create(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let is = |error: &Error, kind| matches!(error, Error::Io { source, .. } if source.kind() == kind);
        loop {
            match Self::open(&path, layout) {
                Err(error) if is(&error, io::ErrorKind::NotFound) => {}
                done => return done,
            }
            match Self::create(&path, layout) {
                Err(error) if is(&error, io::ErrorKind::AlreadyExists) => {}
                done => return done,
            }
        }
    }

    /// Whether the file still has its size. After it was truncated, an access is a SIGBUS.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    pub fn check(&self) -> Result<()> {
        let Some((file, path)) = &self.file else { return Ok(()) };
        Self::check_length(file, path)
    }

    /// A file without a name, complete; then, in one step, its name: nobody sees half a file, and a process that dies
    /// here leaves nothing.
    fn prepare(path: &Path, layout: u32) -> io::Result<File> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?);
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
        if found.world != wanted.world {
            return Err(Error::Stale { path: path.into() });
        }
        Self::check_length(file, path)
    }

    /// A file too short for a header is a truncated one if it begins like one.
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
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing. The file is long enough.
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
        // SAFETY: the value begins after the header, within the mapping, aligned (the mapping is to a page, the header
        // to 128 bytes, and T to no more). Its bytes were zero, which is a T, and since then they were changed only
        // through `&T`, by processes that agree on the layout number. What is not so is in the module's contract.
        unsafe { self.start.add(HEADER).cast::<T>().as_ref() }
    }
}

impl<T: Plain> Drop for SharedMemory<T> {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made by `map` or `anonymous`, and no reference outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

impl<T: Plain> fmt::Debug for SharedMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.file.as_ref().map(|(_, path)| path);
        f.debug_struct("SharedMemory").field("path", &path).field("length", &self.length).finish_non_exhaustive()
    }
}
