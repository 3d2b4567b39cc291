//! Files of shared locks that are missing, foreign, truncated, or from an earlier boot are errors, never a crash.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, symlink},
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
        mpsc,
    },
    time::Duration,
};
use tempfile::TempDir;
use ulocks::{
    Adaptive, Robust, Shared,
    shared::{Error, Guarded, Plain, Result, SharedMemory},
};

type Value = Guarded<Adaptive<Shared>, u64>;

macro_rules! safely {
    ($($name:ident),*) => {
        $(fn $name<T: Plain>(path: impl AsRef<Path>, layout: u32) -> Result<SharedMemory<T>> {
            // SAFETY: the file is in this test's own directory. A test that damages it does not read the value
            // afterwards.
            unsafe { SharedMemory::$name(path, layout) }
        })*
    };
}
safely!(create, open, open_or_create);

fn created() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("locks");
    create::<Value>(&path, 7).unwrap().with(|value| *value = 42);
    (directory, path)
}

fn patched(at: u64, bytes: &[u8]) -> Error {
    let (_directory, path) = created();
    File::options().write(true).open(&path).unwrap().write_all_at(bytes, at).unwrap();
    open::<Value>(&path, 7).expect_err("a damaged header")
}

#[test]
fn file_keeps_its_value() {
    let (directory, path) = created();
    assert_eq!(open_or_create::<Value>(&path, 7).unwrap().with(|value| *value), 42);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no other file remains");
}

#[test]
fn creating_twice_and_opening_a_missing_file_are_errors() {
    let (_directory, path) = created();
    let kind = |error| match error {
        Error::Io { source, .. } => source.kind(),
        other => panic!("{other}"),
    };
    assert_eq!(kind(create::<Value>(&path, 7).unwrap_err()), io::ErrorKind::AlreadyExists);
    fs::remove_file(&path).unwrap();
    assert_eq!(kind(open::<Value>(&path, 7).unwrap_err()), io::ErrorKind::NotFound);
}

#[test]
fn foreign_files_are_refused() {
    assert!(matches!(patched(0, b"ELF"), Error::Foreign { .. }));
    let directory = TempDir::new().unwrap();
    for (name, content) in [("empty", &b""[..]), ("short", b"hello"), ("long", &[0x55; 4096])] {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        let error = open::<Value>(&path, 7).expect_err(name);
        assert!(matches!(error, Error::Foreign { .. }), "{name}: {error}");
    }
}

#[test]
fn files_of_the_future_are_refused() {
    let error = patched(8, &9u32.to_ne_bytes());
    assert!(matches!(error, Error::Format { found: 9, .. }), "{error}");
    assert!(error.to_string().ends_with("made by format version 9; this program knows version 2"), "{error}");
}

#[test]
fn another_layout_or_size_is_refused() {
    let (_directory, path) = created();
    let error = open::<Value>(&path, 8).unwrap_err();
    assert!(matches!(error, Error::Layout { found_layout: 7, layout: 8, .. }), "{error}");
    let error = open::<[u64; 5]>(&path, 7).unwrap_err();
    assert!(matches!(error, Error::Layout { found_size: 16, size: 40, .. }), "{error}");
}

/// Size and alignment are equal, but the locks differ: one type's unlocked value is the other's held value.
#[test]
fn value_of_another_type_is_refused() {
    let (_directory, path) = created();
    let error = open::<Guarded<Robust<Shared>, u64>>(&path, 7).unwrap_err();
    assert!(matches!(error, Error::Layout { .. } | Error::Type { .. }), "{error}");
    let error = open::<[u64; 2]>(&path, 7).unwrap_err();
    assert!(error.to_string().contains("holds"), "{error}");
    let (_directory, path) = {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("number");
        create::<AtomicU8>(&path, 7).unwrap().store(2, Relaxed);
        (directory, path)
    };
    let error = open::<AtomicBool>(&path, 7).unwrap_err();
    assert!(matches!(error, Error::Type { .. }), "{error}");
    assert!(error.to_string().contains("holds a Atomic"), "{error}");
}

/// Any program may have written the header of the file.
#[test]
fn control_characters_in_a_type_name_are_escaped() {
    let error = patched(64, b"\x1b[2J\xe2\x80\xae\0").to_string();
    assert!(error.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{error:?}");
}

/// The call runs in a separate thread, which a defect would keep busy forever.
#[test]
fn dangling_symbolic_link_is_an_error() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("link");
    symlink(directory.path().join("nothing"), &path).unwrap();
    let (sender, receiver) = mpsc::channel();
    let link = path.clone();
    std::thread::spawn(move || sender.send(open_or_create::<Value>(link, 7).map(|_| ())));
    let answer = receiver.recv_timeout(Duration::from_secs(120)).expect("it returns");
    let error = answer.unwrap_err();
    assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound), "{error}");
    fs::remove_file(&path).unwrap();
    // A link to a file is followed.
    create::<Value>(directory.path().join("something"), 7).unwrap();
    symlink(directory.path().join("something"), &path).unwrap();
    open_or_create::<Value>(&path, 7).unwrap();
}

#[test]
fn files_from_before_the_boot_are_refused() {
    assert!(matches!(patched(32, &[1; 16]), Error::Stale { .. }), "another boot");
    assert!(matches!(patched(48, &[1; 8]), Error::Stale { .. }), "another pid namespace");
    assert!(matches!(patched(56, &[1; 8]), Error::Stale { .. }), "another time namespace");
}

#[test]
fn truncated_files_are_refused_at_every_length() {
    let (_directory, path) = created();
    let memory = open::<Value>(&path, 7).unwrap();
    memory.check().unwrap();
    let full = fs::metadata(&path).unwrap().len();
    for length in (0..full).rev() {
        File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let error = open::<Value>(&path, 7).expect_err("a truncated file");
        let expected = if length < 8 {
            matches!(error, Error::Foreign { .. })
        } else {
            matches!(error, Error::Truncated { found, .. } if found == length)
        };
        assert!(expected, "{length}: {error}");
        assert!(matches!(memory.check(), Err(Error::Truncated { .. })));
    }
}

#[test]
fn error_names_a_missing_directory() {
    let error = create::<Value>("/nowhere/at/all", 1).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
}
