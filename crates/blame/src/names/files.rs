//! The files that are mapped in watched processes: opened while they are mapped, read when a name is looked for.

use super::file::{FileId, Mapping, Refusal, open_mapped};
use super::image::Image;
use crate::allowance::{Allowance, Exhausted};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A mapped file: the same path can be another file in another process, or in the same one later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    path: Arc<Path>,
    file: FileId,
}

impl Key {
    pub fn of(mapping: &Mapping) -> Self {
        Self { path: Arc::clone(&mapping.path), file: mapping.file }
    }
}

/// Files, and how much of them is in memory.
#[derive(Default)]
pub struct Files {
    known: HashMap<Key, Known>,
    open: usize,
    size: u64,
    /// A file system did not answer, so no further file is opened.
    is_stalled: bool,
    pub allowance: Allowance,
}

enum Known {
    /// It is the mapped file, and was not read yet.
    Open(File),
    /// `None` if it is not a program or library.
    Read(Option<Box<Image>>),
    /// It is not used, and whether code was to be named in it.
    Refused(Refusal, bool),
}

/// Descriptors that are kept open. A process has some dozens of libraries; a server with plugins, hundreds.
const MOST_OPEN: usize = 128;
/// Bytes of one file, and of all files together, that are kept in memory.
pub const MOST_OF_FILE: u64 = 144 << 20;
const MOST_OF_ALL: u64 = 208 << 20;
/// A file system that takes longer than this for a file is taken for one that never answers: a process can mount one
/// itself (FUSE) and leave every call to it waiting.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The same where debugging information may come from a server.
const PATIENCE_WITH_SERVER: Duration = Duration::from_secs(30);

impl Files {
    pub fn within(allowance: &Allowance) -> Self {
        Self { allowance: allowance.clone(), ..Self::default() }
    }

    /// Opens the files that have code, and are new.
    pub fn open_code(&mut self, pid: Option<u32>, mappings: &[Mapping]) {
        let mut new: HashMap<Key, Vec<Mapping>> = HashMap::new();
        for piece in mappings.iter().filter(|piece| is_in_file_system(&piece.path)) {
            let key = Key::of(piece);
            if !self.known.contains_key(&key) {
                new.entry(key).or_default().push(piece.clone());
            }
        }
        new.retain(|_, pieces| pieces.iter().any(|piece| piece.is_code));
        let room = MOST_OPEN.saturating_sub(self.open);
        let new: Vec<(Key, Vec<Mapping>)> = new.into_iter().take(room).collect();
        if new.is_empty() || self.is_stalled {
            return;
        }
        let open = move |_: &Allowance| {
            new.into_iter().map(|(key, pieces)| (key, open_mapped(pid, &pieces))).collect::<Vec<_>>()
        };
        match self.allowance.patiently(PATIENCE, open) {
            Err(exhausted) => self.is_stalled = exhausted == Exhausted::Stalled,
            Ok(opened) => {
                for (key, file) in opened {
                    self.open += usize::from(file.is_ok());
                    let known = file.map_or_else(|refusal| Known::Refused(refusal, false), Known::Open);
                    self.known.insert(key, known);
                }
            }
        }
    }

    /// Returns the file that these pieces, which begin with its first, are of; `None` if it cannot be named from. `pid`
    /// is the process that has them, if it is known to have been alive.
    pub fn image(&mut self, pid: Option<u32>, pieces: &[Mapping]) -> Option<&Image> {
        let first = pieces.first().filter(|first| is_in_file_system(&first.path))?;
        let key = Key::of(first);
        let is_wanted = pieces.iter().any(|piece| piece.is_code);
        let known = match self.known.remove(&key) {
            Some(Known::Open(file)) => {
                self.open -= 1;
                self.read(pid, pieces, Some(file), is_wanted)
            }
            Some(Known::Refused(refusal, was_wanted)) => Known::Refused(refusal, was_wanted || is_wanted),
            Some(known) => known,
            None => self.read(pid, pieces, None, is_wanted),
        };
        self.known.insert(key.clone(), known);
        match self.known.get(&key) {
            Some(Known::Read(image)) => image.as_deref(),
            _ => None,
        }
    }

    fn read(&mut self, pid: Option<u32>, pieces: &[Mapping], file: Option<File>, is_wanted: bool) -> Known {
        if self.is_stalled {
            return Known::Refused(Refusal::Exhausted(Exhausted::Stalled), is_wanted);
        }
        let room = MOST_OF_FILE.min(MOST_OF_ALL.saturating_sub(self.size));
        let (pieces, path) = (pieces.to_vec(), Arc::clone(&pieces[0].path));
        let root = pid.map(|pid| PathBuf::from(format!("/proc/{pid}/root")));
        let run = self.allowance.clone();
        let read = move |_: &Allowance| {
            let file = file.map_or_else(|| open_mapped(pid, &pieces), Ok)?;
            Ok::<_, Refusal>(Image::read(file, &path, root.as_deref(), room, &run))
        };
        let has_server = std::env::var_os("DEBUGINFOD_URLS").is_some_and(|servers| !servers.is_empty());
        match self.allowance.patiently(if has_server { PATIENCE_WITH_SERVER } else { PATIENCE }, read) {
            Err(exhausted) => {
                self.is_stalled = exhausted == Exhausted::Stalled;
                Known::Refused(Refusal::Exhausted(exhausted), is_wanted)
            }
            Ok(Err(refusal)) => Known::Refused(refusal, is_wanted),
            Ok(Ok(image)) => {
                self.size += image.as_ref().map_or(0, |image| image.size);
                Known::Read(image.map(Box::new))
            }
        }
    }

    /// Returns the build of a file of this name whose own functions have no names; `None` if it has them, or was not
    /// read.
    pub fn stripped(&self, file: &str) -> Option<Option<String>> {
        let is_it = |key: &Key| key.path.file_name().is_some_and(|name| name == file);
        self.known.iter().find_map(|(key, known)| match known {
            Known::Read(Some(image)) if is_it(key) && image.is_stripped => Some(image.build_id.clone()),
            _ => None,
        })
    }

    /// Files with code from which names were wanted in vain.
    pub fn unnamed(&self) -> Vec<(PathBuf, Refusal)> {
        let why = |known: &Known| match known {
            Known::Refused(refusal, true) => Some(refusal.clone()),
            Known::Read(Some(image)) => image.lack(),
            _ => None,
        };
        let mut unnamed: Vec<(PathBuf, Refusal)> =
            self.known.iter().filter_map(|(key, known)| Some((key.path.to_path_buf(), why(known)?))).collect();
        unnamed.sort_by(|one, other| one.0.cmp(&other.0));
        unnamed
    }
}

/// Returns whether a path of a map can be one of a file system. The kernel calls shared memory as these; its code, if
/// it has any, was compiled while the program ran.
fn is_in_file_system(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    ![&b"/dev/zero"[..], b"/memfd:", b"/SYSV", b"/[", b"/anon_hugepage"].iter().any(|other| path.starts_with(other))
}
