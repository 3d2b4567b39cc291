//! The kernel's list of tracepoints: `tracefs`.
//!
//! Often nobody has mounted it. Root may mount it where nobody sees it: a mount that is attached nowhere ends with its
//! file descriptor.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, OFlags, open, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// An open `tracefs`.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: OwnedFd,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Tracefs {
    /// Where it is mounted, else in a mount of our own.
    ///
    /// # Errors
    /// That of the own mount if there is none, that of the mounted one if it is there and not for us.
    pub fn open() -> io::Result<Self> {
        let mut refused = None;
        for path in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
            match open(path, DIRECTORY, Mode::empty()).map(|root| Self { root }) {
                // An empty directory is where it would be mounted.
                Ok(tracefs) => match tracefs.directory("events") {
                    Ok(_) => return Ok(tracefs),
                    Err(error) => {
                        refused = refused.or(Some(error).filter(|error| error.kind() != io::ErrorKind::NotFound))
                    }
                },
                Err(error) => {
                    refused = refused
                        .or(Some(error.into()).filter(|error: &io::Error| error.kind() != io::ErrorKind::NotFound))
                }
            }
        }
        Self::mount().map_err(|error| refused.unwrap_or(error))
    }

    fn mount() -> io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOEXEC | MountAttrFlags::MOUNT_ATTR_NOSUID;
        Ok(Self { root: fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)? })
    }

    fn directory(&self, path: &str) -> io::Result<OwnedFd> {
        Ok(openat(&self.root, path, DIRECTORY, Mode::empty())?)
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> io::Result<String> {
        let file = openat(&self.root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text)?;
        Ok(text)
    }

    /// The names in a directory, sorted.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.directory(path)?)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// A tracepoint of the kernel's, by its number and the places of its fields.
#[derive(Clone, Debug)]
pub struct TracepointFormat {
    /// Under which number it is opened, and stands in its data.
    pub id: u16,
    format: String,
}

impl TracepointFormat {
    /// That of this name, as in `sched/sched_waking`.
    ///
    /// # Errors
    /// If `tracefs` cannot be read, or there is none of this name.
    pub fn of(name: &str) -> io::Result<Self> {
        let tracefs = Tracefs::open()?;
        let id = tracefs.text(&format!("events/{name}/id"))?;
        let id =
            id.trim().parse().map_err(|_| io::Error::other(format!("tracefs: events/{name}/id is not a number")))?;
        Ok(Self { id, format: tracefs.text(&format!("events/{name}/format"))? })
    }

    /// Where a field lies in its data.
    ///
    /// # Errors
    /// It has no such field.
    pub fn offset_of(&self, field: &str) -> io::Result<usize> {
        offset_of(&self.format, field).ok_or_else(|| io::Error::other(format!("a tracepoint without {field}")))
    }
}

/// Where a field lies, from a line such as `field:int irq; offset:8; size:4; signed:1;` with tabs between.
pub(super) fn offset_of(format: &str, field: &str) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let name = parts.next()?.split_whitespace().last()?;
        let offset = parts.next()?.strip_prefix("offset:")?;
        if name == field { offset.parse().ok() } else { None }
    })
}
