//! The memory that processes share: a file, or anonymous memory.

use super::{
    error::{Error, Result},
    header::{HEADER, Header, MAGIC},
    plain::Plain,
};
use rustix::{
    fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags},
    mm::{MapFlags, ProtFlags},
};
use std::{
    fmt,
    fs::File,
    io,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    ptr::NonNull,
};

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
