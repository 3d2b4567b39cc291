//! A user-supplied lock: a shared object with four functions and a size, named by its path in place of a lock's name.
//!
//! `include/contend_lock.h` describes the exports. The object is tried in a separate process first ([`trial`]), and
//! only one that loads, works and excludes is loaded into this one. In results it has the name of its file. Later
//! failures are reported by [`what_became`].

mod lock;
mod trial;
mod watch;

use self::lock::Exports;
use super::Entry;
use super::lock::{Builder, Reach};
use lock::{FromObject, with_object};
use record::ranking::is_object;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use lock::EmptyCalls;
pub use watch::{has_crashed, what_became};

/// The reason why a shared object is not a lock to measure.
#[derive(Debug)]
pub struct ObjectError {
    pub path: String,
    pub reason: String,
}

impl fmt::Display for ObjectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for ObjectError {}

/// A loaded object, for as long as the process lives.
#[derive(Clone, Copy)]
struct Loaded {
    entry: &'static Entry,
    path: &'static Path,
    sha256: &'static str,
    exports: Exports,
}

static LOADED: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// Returns whether it is the path of an object and not a lock's name.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || is_object(name)
}

/// Tries the object, loads it, and gives it an entry; an object that is loaded already has one.
///
/// # Errors
/// The file does not exist, it is not a lock, or another object has its name.
pub fn load(path: &str) -> Result<&'static Entry, ObjectError> {
    let refuse = |reason: String| ObjectError { path: path.to_owned(), reason };
    let full: PathBuf = std::fs::canonicalize(path).map_err(|error| refuse(missing(&error)))?;
    check_kind(&full).map_err(refuse)?;
    let name = full.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.ok_or_else(|| refuse("the path has no file name".into()))?;
    // A record has the name alone.
    if !is_object(&name) {
        return Err(refuse("the name of a shared object must end in .so; rename the file".into()));
    }
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = loaded.iter().find(|one| one.entry.name == name) {
        let is_same = same.path == full;
        return if is_same {
            Ok(same.entry)
        } else {
            Err(refuse(format!("{} has the same name", same.path.display())))
        };
    }
    trial::try_out(full.as_os_str()).map_err(refuse)?;
    let exports = lock::open(full.as_os_str()).map_err(refuse)?;
    let sha256 = instruments::sha256::of_file(&full).map_err(|error| refuse(error.to_string()))?;
    let about = format!("a lock of {} bytes in {}", exports.size, full.display());
    // Leaked like the registry's own: an entry exists forever, and so does the loaded object.
    let entry = Entry { name: name.leak(), about: about.leak(), between_processes: false, readers: false };
    let entry: &'static Entry = Box::leak(Box::new(entry));
    watch::catch_crashes();
    loaded.push(Loaded { entry, path: Box::leak(full.into_boxed_path()), sha256: sha256.leak(), exports });
    Ok(entry)
}

/// Returns the reason why the path of a shared object leads nowhere.
fn missing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "the file does not exist; name a shared object with a lock, such as ./libmine.so".into()
        }
        _ => format!("cannot open the file: {}", terminal::without_error_numbers(&error.to_string())),
    }
}

/// Checks the first bytes of the file before it is loaded, since the loader's own messages do not say how to go on.
fn check_kind(path: &Path) -> Result<(), String> {
    let advice = "docs/own-lock.md explains how to build one with `cc -shared`";
    if path.is_dir() {
        return Err(format!("a directory, not a shared object; {advice}"));
    }
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    match read {
        Ok(()) if start == *b"\x7fELF" => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(missing(&error)),
        _ => Err(format!("not a shared object (ELF file); {advice}")),
    }
}

/// Returns the entry of a loaded object.
pub fn entry(name: &str) -> Option<&'static Entry> {
    find(name).map(|one| one.entry)
}

/// Returns the loaded objects among locks of these names: the name and the SHA-256 of each.
pub fn hashes<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    let loaded = names.into_iter().filter_map(find);
    loaded.map(|one| (one.entry.name.to_owned(), one.sha256.to_owned())).collect()
}

/// Passes the lock of a loaded object to `builder`; returns `None` for other names, and between processes.
pub fn build<B: Builder>(name: &str, reach: Reach, builder: B) -> Option<io::Result<B::Output>> {
    let one = find(name).filter(|_| reach == Reach::Threads)?;
    Some(with_object(&one.exports, || builder.build::<FromObject>()))
}

fn find(name: &str) -> Option<Loaded> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|one| one.entry.name == name).copied()
}
