//! A user-supplied lock: a shared object in the place of a lock's name, good and bad.

use crate::command::objects::{can_compile, compile};
use crate::command::{contend, read, record, results};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../locks/examples/own_lock.c");

/// One object of each kind, compiled from C; `None` without a compiler.
struct Objects(TempDir);

impl Objects {
    fn get() -> Option<&'static Self> {
        static OBJECTS: OnceLock<Option<Objects>> = OnceLock::new();
        OBJECTS.get_or_init(Self::make).as_ref()
    }

    fn make() -> Option<Self> {
        let objects = Self(tempfile::tempdir().unwrap());
        if !can_compile() {
            return None;
        }
        objects.compile("own", &std::fs::read_to_string(EXAMPLE).unwrap());
        for (name, version, size, bodies) in BAD {
            objects.compile(name, &source(version, size, bodies));
        }
        Some(objects)
    }

    fn compile(&self, name: &str, source: &str) {
        compile(self.0.path(), name, source);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("lib{name}.so"))
    }

    /// Returns the error for an object that is not a usable lock.
    fn refused(&self, command: &str, name: &str) -> String {
        refused(command, &self.path(name))
    }
}

fn refused(command: &str, path: &Path) -> String {
    let output = contend(&[command, "--lock", path.to_str().unwrap(), "--seconds", "0.1"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty() && stderr.contains("--lock /"), "{stderr}");
    stderr
}

/// The code that acquires a good lock: a word that is exchanged.
const TAKE: &str = "while (__atomic_exchange_n((int *)lock, 1, __ATOMIC_ACQUIRE)) sched_yield();";
const FREE: &str = "__atomic_store_n((int *)lock, 0, __ATOMIC_RELEASE);";

/// Name, version, size, and the bodies of init, acquire, release and destroy; without a body the function is missing.
type Bad = (&'static str, &'static str, &'static str, [Option<&'static str>; 4]);
const BAD: &[Bad] = &[
    ("lacks", "1", "4", [Some(""), Some(TAKE), None, None]),
    ("future", "2", "4", [Some(""), Some(TAKE), Some(FREE), Some("")]),
    ("empty", "1", "0", [Some(""), Some(TAKE), Some(FREE), Some("")]),
    ("huge", "1", "5000", [Some(""), Some(TAKE), Some(FREE), Some("")]),
    ("overflows", "1", "4", [Some("((int *)lock)[3] = 1;"), Some(TAKE), Some(FREE), Some("")]),
    ("fails", "1", "4", [Some("return 12;"), Some(TAKE), Some(FREE), Some("")]),
    ("crashes", "1", "4", [Some(""), Some(TAKE), Some("*(volatile int *)0 = 1;"), Some("")]),
    ("aborts", "1", "4", [Some("abort();"), Some(TAKE), Some(FREE), Some("")]),
    ("exits", "1", "4", [Some(""), Some(TAKE), Some(FREE), Some("exit(0);")]),
    ("keeps", "1", "4", [Some(""), Some(TAKE), Some(""), Some("")]),
    ("shares", "1", "4", [Some(""), Some(""), Some(""), Some("")]),
];

fn source(version: &str, size: &str, bodies: &[Option<&str>; 4]) -> String {
    let mut text = format!(
        "#include <sched.h>\n#include <stdlib.h>\n#include <stddef.h>\n#include <stdint.h>\n\
         const uint32_t contend_lock_version = {version};\nconst size_t contend_lock_size = {size};\n"
    );
    for (place, (name, body)) in ["init", "acquire", "release", "destroy"].iter().zip(bodies).enumerate() {
        let Some(body) = body else { continue };
        let (returns, end) = if place == 0 { ("int", "return 0;") } else { ("void", "") };
        text += &format!("{returns} contend_lock_{name}(void *lock) {{ (void)lock; {body} {end} }}\n");
    }
    text
}

#[test]
fn user_supplied_lock_is_measured_with_built_in_locks() {
    let Some(objects) = Objects::get() else { return };
    let own = objects.path("own");
    let locks = format!("{},pthread", own.display());
    // There is a row for each thread and operation, in a run that is long enough for that on a busy machine.
    let is_whole = |record: &Value| {
        let rows =
            |threads| results(record).iter().filter(move |row| row["lock"] == "libown.so" && row["threads"] == threads);
        [1, 2].into_iter().all(|threads| rows(threads).count() == 3 * threads)
    };
    let run = |seconds: &&str| record(&["latency", "--lock", &locks, "--threads", "1,2", "--seconds", seconds]);
    let latency = ["0.5", "4", "30"].iter().map(run).find(is_whole).expect("a run has all rows");
    assert!(latency["parameters"]["object_calls_ns"].as_f64().unwrap() > 0.0);
    let hash = instruments::sha256::of_file(&own).unwrap();
    assert_eq!(latency["parameters"]["object_sha256"], serde_json::json!({ "libown.so": hash }));
    let throughput = record(&["throughput", "--lock", &locks, "--children", "2", "--run", "5ms", "--hold", "1us"]);
    let names: Vec<_> = results(&throughput).iter().map(|row| row["lock"].as_str().unwrap()).collect();
    assert_eq!(names, ["libown.so", "pthread"]);
    assert_eq!(throughput["parameters"]["object_sha256"], latency["parameters"]["object_sha256"]);
}

/// A lock that stores its own address, as one with a list in it does: it is used where it was made, or ends the
/// process.
const KEEPS_ITS_ADDRESS: [Option<&str>; 4] = [
    Some("*(void **)lock = lock;"),
    Some(
        "if (*(void **)lock != lock) abort();
         while (__atomic_exchange_n((int *)lock + 2, 1, __ATOMIC_ACQUIRE)) sched_yield();",
    ),
    Some("if (*(void **)lock != lock) abort(); __atomic_store_n((int *)lock + 2, 0, __ATOMIC_RELEASE);"),
    Some("if (*(void **)lock != lock) abort();"),
];

#[test]
fn a_lock_is_never_moved_once_it_is_made() {
    if !can_compile() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let object = compile(folder.path(), "keeps_its_address", &source("1", "16", &KEEPS_ITS_ADDRESS));
    let of_it = |arguments: &[&str]| {
        let output = contend(&[arguments, &["--lock", object.to_str().unwrap(), "--format", "json"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!results(&read(&output.stdout)).is_empty());
    };
    of_it(&["latency", "--threads", "1,2", "--seconds", "0.3"]);
    // Each child's own lock, and the common one.
    of_it(&["throughput", "--children", "2", "--run", "5ms", "--hold", "1us", "--locks", "2"]);
}

#[test]
fn record_without_an_object_has_no_cost_of_calls() {
    let record = record(&["latency", "--lock", "std", "--seconds", "0.1"]);
    assert!(record["parameters"].get("object_calls_ns").is_none());
}

#[test]
fn incomplete_object_is_refused_with_the_missing_symbol() {
    let Some(objects) = Objects::get() else { return };
    let cases: &[(&str, &[&str])] = &[
        ("lacks", &["missing symbols: contend_lock_release, contend_lock_destroy", "contend_lock.h"]),
        ("future", &["contend_lock_version is 2", "supported: 1"]),
        ("empty", &["contend_lock_size is 0", "1 to 4096"]),
        ("huge", &["contend_lock_size is 5000", "1 to 4096"]),
        ("overflows", &["writes beyond its contend_lock_size of 4 bytes"]),
        ("fails", &["contend_lock_init failed", "memory"]),
        ("crashes", &["crashes", "contend_lock_release", "SIGSEGV"]),
        ("aborts", &["crashes", "contend_lock_init", "SIGABRT"]),
        ("exits", &["terminates the process", "contend_lock_destroy"]),
        ("shares", &["no mutual exclusion", "were lost"]),
    ];
    for (name, words) in cases {
        let message = objects.refused("latency", name);
        words.iter().for_each(|word| assert!(message.contains(word), "{name}: {word:?} is not in\n{message}"));
    }
    assert!(objects.refused("throughput", "shares").contains("no mutual exclusion"));
}

#[test]
fn blocking_lock_is_ended_and_named() {
    let Some(objects) = Objects::get() else { return };
    let message = objects.refused("latency", "keeps");
    assert!(message.contains("blocks") && message.contains("contend_lock_acquire of an uncontended lock"), "{message}");
}

#[test]
fn processes_and_readers_are_refused_for_an_object() {
    let Some(objects) = Objects::get() else { return };
    let own = objects.path("own");
    let refused = |flags: &[&str]| {
        let output = contend(&[&["throughput", "--lock", own.to_str().unwrap()], flags].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["--processes"]).contains("libown.so: processes cannot share it"));
    assert!(refused(&["--share", "20"]).contains("libown.so: it has no read mode"));
}

#[test]
fn objects_of_the_same_name_are_distinguished() {
    let Some(objects) = Objects::get() else { return };
    let other = objects.0.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(objects.path("own"), other.join("libown.so")).unwrap();
    let both = format!("{},{}", objects.path("own").display(), other.join("libown.so").display());
    let output = contend(&["latency", "--lock", &both]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has the same name"));
}
