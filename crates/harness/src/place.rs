//! The place of a file: a directory that is held open, and a name in it. An entry that is checked there is the one that is written,
//! since no other process can put another directory below the descriptor.
//!
//! Links are followed as the kernel follows them with `fs.protected_symlinks` and `fs.protected_regular`, also where
//! these are switched off: in a directory like `/tmp`, where every user may create files and none may remove those of
//! others, the entries of other users are not trusted.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat, fstatfs, openat, readlinkat};
use rustix::fs::{PROC_SUPER_MAGIC, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name in a directory.
#[derive(Clone)]
pub struct Place {
    folder: Arc<OwnedFd>,
    /// The directory as the user called it, for messages.
    shown: PathBuf,
    name: OsString,
}

/// The number of links that the kernel follows.
const MOST_LINKS: usize = 40;

impl Place {
    /// Finds the place that a path leads to, which is not a link. A link of the kernel's, such as those behind
    /// `/dev/stdout`, leads to an open file instead, which is returned as an error.
    ///
    /// # Errors
    /// A directory does not exist; a link is not to be followed.
    pub fn of(path: &Path) -> io::Result<Result<Self, File>> {
        let mut place = Self::below(None, path)?;
        for _ in 0..MOST_LINKS {
            let Some(found) = place.found()? else { return Ok(Ok(place)) };
            if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
                return Ok(Ok(place));
            }
            let folder = fstat(&*place.folder)?;
            if !is_trusted(&Entry::of(&folder), &Entry::of(&found), user()) {
                let owner = found.st_uid;
                return Err(refused(&format!("it is a link of the user {owner} in a directory of all users")));
            }
            if fstatfs(&*place.folder)?.f_type == PROC_SUPER_MAGIC {
                return Ok(Err(
                    openat(&*place.folder, &place.name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?.into()
                ));
            }
            let target = readlinkat(&*place.folder, &place.name, Vec::new())?;
            place = Self::below(Some(&place), Path::new(OsStr::from_bytes(target.to_bytes())))?;
        }
        Err(Errno::LOOP.into())
    }

    /// Returns the place of the directory itself, for [`Self::sibling`].
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn inside(folder: &Path) -> io::Result<Self> {
        let held = openat(CWD, folder, FOLDER, Mode::empty())?;
        Ok(Self { folder: Arc::new(held), shown: folder.to_owned(), name: OsString::from(".") })
    }

    /// Returns another name in the same directory.
    ///
    /// # Errors
    /// It is not a name.
    pub fn sibling(&self, name: &str) -> io::Result<Self> {
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(Errno::INVAL.into());
        }
        Ok(Self { name: name.into(), ..self.clone() })
    }

    fn below(from: Option<&Self>, path: &Path) -> io::Result<Self> {
        // A path that ends with a slash or with `..` has no name.
        let bytes = path.as_os_str().as_bytes();
        let at = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let (folder, name) = (OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at..]));
        if bytes.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if name.is_empty() || name == "." || name == ".." {
            return Err(io::Error::other("it is a directory"));
        }
        let folder = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
        // Without the slash at its end.
        let shown: PathBuf =
            from.map_or_else(|| folder.to_owned(), |from| from.shown.join(folder)).components().collect();
        let held = match from {
            Some(from) => openat(&*from.folder, folder, FOLDER, Mode::empty()),
            None => openat(CWD, folder, FOLDER, Mode::empty()),
        };
        let held = held.map_err(|error| {
            let named = shown.display();
            match error {
                Errno::NOENT => io::Error::new(io::ErrorKind::NotFound, format!("directory {named} does not exist")),
                Errno::NOTDIR => io::Error::new(io::ErrorKind::NotADirectory, format!("{named} is not a directory")),
                error => error.into(),
            }
        })?;
        Ok(Self { folder: Arc::new(held), shown, name: name.to_owned() })
    }

    /// Returns the entry itself; `None` if there is none.
    fn found(&self) -> io::Result<Option<Stat>> {
        match statat(&*self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the file for writing, if there is one; with its mode if another file may take its place: it is a regular
    /// file with no other name, and this user's.
    ///
    /// # Errors
    /// It is a directory, cannot be written, or is not to be trusted.
    pub fn open(&self) -> io::Result<Option<(File, Option<u32>)>> {
        let Some(found) = self.found()? else { return Ok(None) };
        let kind = FileType::from_raw_mode(found.st_mode);
        if kind == FileType::Directory {
            return Err(io::Error::other("it is a directory"));
        }
        // A FIFO is opened when it has a reader; nothing else makes contend wait, also if it was exchanged in between.
        let waits = if kind == FileType::Fifo { OFlags::empty() } else { OFlags::NONBLOCK };
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC | waits;
        let file = openat(&*self.folder, &self.name, flags, Mode::empty())?;
        let opened = fstat(&file)?;
        let kind = FileType::from_raw_mode(opened.st_mode);
        let folder = fstat(&*self.folder)?;
        let is_protected = matches!(kind, FileType::RegularFile | FileType::Fifo);
        if is_protected && !is_trusted(&Entry::of(&folder), &Entry::of(&opened), user()) {
            let owner = opened.st_uid;
            return Err(refused(&format!("it is a file of the user {owner} in a directory of all users")));
        }
        rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
        let is_own = kind == FileType::RegularFile && opened.st_nlink == 1 && opened.st_uid == user();
        let mode = is_own.then_some(opened.st_mode & 0o777);
        Ok(Some((file.into(), mode)))
    }

    /// Removes the entry, if it still is the file with this identity.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, identity: (u64, u64)) -> io::Result<()> {
        if self.found()?.is_some_and(|found| (found.st_dev, found.st_ino) == identity) {
            unlinkat(&*self.folder, &self.name, AtFlags::empty())?;
        }
        Ok(())
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{why}; name a file in a directory that you own"))
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The owner and the mode of a directory or of an entry.
#[derive(Clone, Copy)]
struct Entry {
    owner: u32,
    mode: u32,
}

impl Entry {
    fn of(found: &Stat) -> Self {
        Self { owner: found.st_uid, mode: found.st_mode }
    }
}

/// Returns whether this user trusts an entry of the directory: everywhere but in a directory in which all users create
/// entries, and there only the entries of its owner and this user's own. This is the kernel's rule.
fn is_trusted(folder: &Entry, entry: &Entry, user: u32) -> bool {
    const STICKY_FOR_ALL: u32 = 0o1002;
    folder.mode & STICKY_FOR_ALL != STICKY_FOR_ALL || entry.owner == user || entry.owner == folder.owner
}

/// The number of drafts of this process.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A file with a unique name, which is removed when it is dropped.
pub struct Draft {
    file: File,
    folder: Arc<OwnedFd>,
    name: Option<String>,
}

impl Draft {
    /// Checks that a file can be created there.
    ///
    /// # Errors
    /// A problem with the directory, which the message names: the draft's own name would not help the user.
    pub fn try_beside(place: &Place) -> io::Result<()> {
        Self::create(place, 0o600).map(drop)
    }

    /// Creates a file with this content in the same directory.
    ///
    /// # Errors
    /// As above; or it cannot be written.
    pub fn beside(place: &Place, mode: u32, content: &[u8]) -> io::Result<Self> {
        let mut draft = Self::create(place, mode)?;
        draft.file.write_all(content)?;
        draft.file.sync_all()?;
        Ok(draft)
    }

    fn create(place: &Place, mode: u32) -> io::Result<Self> {
        const TRIES: usize = 100;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..TRIES {
            let name = format!(".contend-{}-{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
            match openat(&*place.folder, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => return Ok(Self { file: file.into(), folder: place.folder.clone(), name: Some(name) }),
                Err(Errno::EXIST) => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        let why = io::Error::from(last);
        Err(io::Error::new(why.kind(), format!("cannot create a file in {}: {}", place.shown.display(), why.kind())))
    }

    /// Returns the device and the inode.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let found = fstat(&self.file)?;
        Ok((found.st_dev, found.st_ino))
    }

    /// Gives it the name of the place, whatever has it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn replace(mut self, place: &Place) -> io::Result<()> {
        if let Some(name) = &self.name {
            renameat(&*self.folder, name, &*place.folder, &place.name)?;
        }
        self.name = None;
        Ok(())
    }

    /// Gives it the name of the place, if nothing has it; returns whether it has it now.
    ///
    /// # Errors
    /// The system refuses.
    pub fn persist_new(mut self, place: &Place) -> io::Result<bool> {
        let Some(name) = &self.name else { return Ok(false) };
        let renamed = renameat_with(&*self.folder, name, &*place.folder, &place.name, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => self.name = None,
            Err(Errno::EXIST) => return Ok(false),
            // The file system does not know the flag; the draft's name is removed when it is dropped.
            Err(Errno::INVAL | Errno::NOSYS) => {
                match linkat(&*self.folder, name, &*place.folder, &place.name, AtFlags::empty()) {
                    Err(Errno::EXIST) => return Ok(false),
                    linked => linked?,
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.name.iter().for_each(|name| _ = unlinkat(&*self.folder, name, AtFlags::empty()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn entries_of_other_users_are_not_trusted_in_a_directory_of_all() {
        let (root, me, other) = (0, 1000, 1001);
        let entry = |owner, mode| Entry { owner, mode };
        let trusted = |folder, owner| is_trusted(&folder, &entry(owner, 0o777), me);
        let shared = entry(root, 0o41777);
        assert!(trusted(shared, me) && trusted(shared, root) && !trusted(shared, other));
        // Only the sticky bit together with the permission for all.
        assert!(trusted(entry(root, 0o41775), other) && trusted(entry(root, 0o40777), other));
        assert!(trusted(entry(other, 0o41777), other));
    }

    fn written(path: &Path, content: &str) -> io::Result<()> {
        let Ok(place) = Place::of(path)? else { return Err(Errno::INVAL.into()) };
        Draft::beside(&place, 0o600, content.as_bytes())?.replace(&place)
    }

    #[test]
    fn a_link_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("far")).unwrap();
        symlink("far/target", at("near")).unwrap();
        symlink(at("near"), at("link")).unwrap();
        for content in ["first", "second"] {
            written(&at("link"), content).unwrap();
            assert_eq!(std::fs::read_to_string(at("far/target")).unwrap(), content);
        }
        assert!(at("link").is_symlink() && at("near").is_symlink());
        assert_eq!(std::fs::read_dir(at("far")).unwrap().count(), 1);
        symlink("loop", at("loop")).unwrap();
        assert!(written(&at("loop"), "").is_err() && written(&at("none/x"), "").is_err());
        assert!(written(&at("far/"), "").is_err() && written(&at("far/.."), "").is_err());
    }

    #[test]
    fn a_directory_that_was_exchanged_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("own")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        let place = Place::of(&at("own/file")).unwrap().unwrap();
        std::fs::rename(at("own"), at("moved")).unwrap();
        symlink("other", at("own")).unwrap();
        Draft::beside(&place, 0o600, b"text").unwrap().replace(&place).unwrap();
        assert!(at("moved/file").exists() && !at("other/file").exists());
    }

    #[test]
    fn a_new_file_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::inside(folder.path()).unwrap().sibling("file").unwrap();
        let new = |content: &str| Draft::beside(&place, 0o600, content.as_bytes()).unwrap();
        let first = new("first");
        let identity = first.identity().unwrap();
        assert!(first.persist_new(&place).unwrap() && !new("second").persist_new(&place).unwrap());
        assert_eq!(std::fs::read_to_string(folder.path().join("file")).unwrap(), "first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        // Only the file itself is removed, and not another one that has its name.
        new("third").replace(&place).unwrap();
        place.remove(identity).unwrap();
        assert!(folder.path().join("file").exists());
    }

    #[test]
    fn a_file_with_another_name_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let mode = || Place::of(&file).unwrap().unwrap().open().unwrap().unwrap().1;
        assert_eq!(mode(), Some(0o640));
        std::fs::hard_link(&file, folder.path().join("again")).unwrap();
        assert_eq!(mode(), None);
    }
}
