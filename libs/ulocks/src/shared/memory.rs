//! The memory that processes share: a file, or anonymous.

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
/// It is unmapped when dropped. The value is not dropped, and the file stays.
///
/// It hands out a `&T`, which is a promise about what others do with the memory. Of anonymous memory this crate can
/// keep it: only children have it, as the same `T`. Of a file only the caller can, so naming one is `unsafe`.
pub struct SharedMemory<T: Plain> {
    start: NonNull<u8>,
    length: usize,
    file: Option<(File, PathBuf)>,
    value: std::marker::PhantomData<T>,
}

// SAFETY: the mapping is a shared reference to a `T`, which other processes have as well. A `&T` may go to another
// thread, since `T: Plain` is `Sync`; unmapping is allowed on any thread.
unsafe impl<T: Plain> Send for SharedMemory<T> {}
// SAFETY: `&SharedMemory<T>` gives out only `&T`, and `T: Plain` is `Sync`.
unsafe impl<T: Plain> Sync for SharedMemory<T> {}

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
    ///
    /// # Safety
    /// As long as this value lives, no process uses the file but as a `SharedMemory` of a `T` laid out as this one: no one
    /// writes to it, punches holes into it, truncates it or maps it by other means. The file is made for its owner
    /// alone, so that is for the programs of one user to keep.
    pub unsafe fn create(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
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
    ///
    /// # Safety
    /// As for [`create`](Self::create). The header is checked, and a process that may write the file can have forged it.
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

    /// Opens the file, or makes it if there is none. Of several processes that do this at once, one makes it.
    ///
    /// # Errors
    /// Any [`Error`]. A symbolic link to nothing is one (`NotFound`): a link is followed, but nothing is made through
    /// it.
    ///
    /// # Safety
    /// As for [`create`](Self::create).
    pub unsafe fn open_or_create(path: impl AsRef<Path>, layout: u32) -> Result<Self> {
        let path = path.as_ref();
        let is = |error: &Error, kind| matches!(error, Error::Io { source, .. } if source.kind() == kind);
        loop {
            // SAFETY: the caller promises what `open` asks for.
            let missing = match unsafe { Self::open(path, layout) } {
                Err(error) if is(&error, io::ErrorKind::NotFound) => error,
                done => return done,
            };
            // SAFETY: the caller promises what `create` asks for.
            match unsafe { Self::create(path, layout) } {
                Err(error) if is(&error, io::ErrorKind::AlreadyExists) => {}
                done => return done,
            }
            // The name is there and leads nowhere. If it is not a link, another process made the file in between.
            if path.is_symlink() && !path.exists() {
                return Err(missing);
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

    /// A file without a name, complete; then, in one step, its name: no process sees half a file, and a process that dies
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
        if found.name != wanted.name {
            return Err(Error::Type { path: path.into(), found: found.readable_name(), wanted: T::name() });
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
        // through `&T`: of a file its opener has promised that, and anonymous memory only children have.
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
