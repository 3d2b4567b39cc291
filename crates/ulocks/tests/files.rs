//! Files of shared locks that are missing, foreign, truncated, or from another time are errors, never a crash.
#![cfg(not(loom))]

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
};
use tempfile::TempDir;
use ulocks::{
    Adaptive, Shared,
    shared::{Error, Guarded, SharedMemory},
};

type Value = Guarded<Adaptive<Shared>, u64>;

fn made() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("locks");
    SharedMemory::<Value>::create(&path, 7).unwrap().with(|value| *value = 42);
    (folder, path)
}

fn patched(at: u64, bytes: &[u8]) -> Error {
    let (_folder, path) = made();
    File::options().write(true).open(&path).unwrap().write_all_at(bytes, at).unwrap();
    SharedMemory::<Value>::open(&path, 7).expect_err("a damaged header")
}

#[test]
fn a_file_keeps_its_value() {
    let (folder, path) = made();
    assert_eq!(SharedMemory::<Value>::open_or_create(&path, 7).unwrap().with(|value| *value), 42);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
}

#[test]
fn creating_twice_and_opening_nothing_are_errors() {
    let (_folder, path) = made();
    let kind = |error| match error {
        Error::Io { source, .. } => source.kind(),
        other => panic!("{other}"),
    };
    assert_eq!(kind(SharedMemory::<Value>::create(&path, 7).unwrap_err()), io::ErrorKind::AlreadyExists);
    fs::remove_file(&path).unwrap();
    assert_eq!(kind(SharedMemory::<Value>::open(&path, 7).unwrap_err()), io::ErrorKind::NotFound);
}

#[test]
fn foreign_files_are_refused() {
    assert!(matches!(patched(0, b"ELF"), Error::Foreign { .. }));
    let folder = TempDir::new().unwrap();
    for (name, content) in [("empty", &b""[..]), ("short", b"hello"), ("long", &[0x55; 4096])] {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let error = SharedMemory::<Value>::open(&path, 7).expect_err(name);
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
    let (_folder, path) = made();
    let error = SharedMemory::<Value>::open(&path, 8).unwrap_err();
    assert!(matches!(error, Error::Layout { found_layout: 7, layout: 8, .. }), "{error}");
    let error = SharedMemory::<[u64; 5]>::open(&path, 7).unwrap_err();
    assert!(matches!(error, Error::Layout { found_size: 16, size: 40, .. }), "{error}");
}

#[test]
fn files_from_before_the_boot_are_refused() {
    assert!(matches!(patched(32, &[1; 16]), Error::Stale { .. }), "another boot");
    assert!(matches!(patched(48, &[1; 8]), Error::Stale { .. }), "another pid namespace");
    assert!(matches!(patched(56, &[1; 8]), Error::Stale { .. }), "another time namespace");
}

#[test]
fn truncated_files_are_refused_at_every_length() {
    let (_folder, path) = made();
    let memory = SharedMemory::<Value>::open(&path, 7).unwrap();
    memory.check().unwrap();
    let full = fs::metadata(&path).unwrap().len();
    for length in (0..full).rev() {
        File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let error = SharedMemory::<Value>::open(&path, 7).expect_err("a truncated file");
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
fn a_folder_that_is_missing_is_named() {
    let error = SharedMemory::<Value>::create("/nowhere/at/all", 1).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
}
