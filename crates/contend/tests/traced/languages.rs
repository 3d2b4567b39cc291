//! The diagnosis of programs whose locks are not the C library's: of Rust, Python, Java, Go, OpenMP, and of programs that
//! cannot load contend's library.

use crate::programs::{Programs, Traced, traced};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace").join(name)
}

/// Runs a compiler; `false` if it is missing, or cannot compile the program.
pub fn compiles(compiler: &str, words: &[&str], files: [&Path; 2], out: &str) -> bool {
    let [source, program] = files;
    let mut command = Command::new(compiler);
    let is_compiled = command.args(words).arg(out).arg(program).arg(source).output();
    let is_compiled = is_compiled.is_ok_and(|output| output.status.success());
    if !is_compiled {
        println!("skipped: needs {compiler}");
    }
    is_compiled
}

/// Runs the program up to four times, since other programs on the CPUs can be the larger problem in one run.
fn assert_found(programs: &Programs, program: &Path, words: &[&str], expected: [(&str, &str); 3]) {
    let wrong = || {
        let traced = traced(programs, &[], program, words);
        let findings = traced.rows("finding");
        let is_right = |row: &&&Value| {
            expected.iter().all(|(field, part)| row[*field].as_str().unwrap_or_default().contains(part))
        };
        let found = findings.iter().find(is_right).is_some();
        (traced.record["parameters"]["verdict"] != "locks" || !found)
            .then(|| format!("{} {findings:#?}", traced.record["parameters"]))
    };
    let last = (0..4).map(|_| wrong()).take_while(Option::is_some).flatten().collect::<Vec<_>>();
    assert!(last.len() < 4, "four times: {}", last[3]);
}

const WRITE_LOG: [(&str, &str); 3] =
    [("place", "write_log"), ("cause", "slept (nanosleep) in "), ("remedy", "write_log (cache.rs:")];

#[test]
fn rust_mutex_has_its_place_despite_frame_pointers() {
    let programs = Programs::new();
    let program = programs.path("cache");
    if compiles("rustc", &["-O", "-g", "--edition", "2024"], [&source("cache.rs"), &program], "-o") {
        assert_found(&programs, &program, &[], WRITE_LOG);
    }
}

#[test]
fn rust_lock_in_a_closure_without_a_name_has_its_cause() {
    let programs = Programs::new();
    let program = programs.path("closure");
    if compiles("rustc", &["-O", "--edition", "2024"], [&source("closure.rs"), &program], "-o") {
        let slept = ("cause", "another thread in the same function slept (nanosleep) in the closure in std::");
        assert_found(&programs, &program, &[], [("object", "mutex of std::"), ("place", "std::"), slept]);
        // Two of its three threads wait at any time.
        let traced = traced(&programs, &[], &program, &[]);
        let label = traced.rows("label")[0];
        assert_eq!((&label["name"], &label["seen_by"]), (&"GET /x".into(), &"sampling".into()), "{label}");
        assert!(label["share"].as_f64() > Some(0.3), "{label}");
        assert!(label["label_locks"][0]["lock"].as_str().unwrap().starts_with("mutex of std::"), "{label}");
    }
}

/// Returns whether there is a Python whose functions contend can read; `false` with a message.
pub fn has_python() -> bool {
    let version = Command::new("python3").args(["-c", "import sys; print(sys.version_info[1])"]).output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse::<u32>().ok());
    let is_known = version.is_some_and(|version| (11..=13).contains(&version));
    if !is_known {
        println!("skipped: needs CPython 3.11, 3.12 or 3.13");
    }
    is_known
}

#[test]
fn a_lock_of_python_has_its_python_functions() {
    let programs = Programs::new();
    if !has_python() {
        return;
    }
    let script = source("cache.py");
    let object = [("object", "threading.Lock of request (cache.py:"), WRITE_LOG[0], WRITE_LOG[1]];
    assert_found(&programs, Path::new("python3"), &[script.to_str().unwrap()], object);
}

#[test]
fn java_locks_have_the_method_of_their_holder() {
    let programs = Programs::new();
    let classes = programs.path("classes");
    if !compiles("javac", &[], [&source("Cache.java"), &classes], "-d") {
        return;
    }
    let classes = classes.to_str().unwrap();
    let expected = |object| {
        [("object", object), ("place", "Cache.writeLog (Cache.java:"), ("remedy", "move Cache.writeLog (Cache.java:")]
    };
    let java = Path::new("java");
    assert_found(
        &programs,
        java,
        &["-cp", classes, "Cache"],
        expected("the monitor of java.lang.Object in Cache.request"),
    );
    assert_found(&programs, java, &["-cp", classes, "Cache", "table"], expected("ReentrantLock in Cache.update"));
}

#[test]
fn a_critical_section_of_openmp_is_a_lock() {
    let programs = Programs::new();
    let program = programs.path("critical");
    if compiles("cc", &["-O2", "-g", "-fopenmp"], [&source("critical.c"), &program], "-o") {
        let expected =
            [("object", "critical"), ("place", "publish (critical.c:"), ("cause", "slept (nanosleep) in publish")];
        assert_found(&programs, &program, &[], expected);
    }
}

/// With privileges the mutex, and without them the way to see it. The stripped program has no variables and no lines.
#[test]
fn goroutines_have_their_mutex_and_its_holder() {
    let programs = Programs::new();
    let [program, stripped] = ["cache", "stripped"].map(|name| programs.path(name));
    if !compiles("go", &["build"], [&source("cache.go"), &program], "-o") {
        return;
    }
    let slept = ("cause", "that held it slept in main.request");
    let first = traced(&programs, &[], &program, &[]);
    if has_warning(&first, "unseen_goroutines") {
        let parameters = &first.record["parameters"];
        assert!(parameters["verdict_reason"].to_string().contains("CAP_PERFMON"), "{parameters}");
        return println!("skipped: needs CAP_PERFMON and uprobes");
    }
    assert_found(&programs, &program, &[], [("object", "main.cache"), ("place", "main.request (cache.go:"), slept]);
    if compiles("go", &["build", "-ldflags=-s -w"], [&source("cache.go"), &stripped], "-o") {
        let of_site = ("object", "sync.Mutex of main.request");
        // Next to a child process, too.
        assert_found(&programs, &stripped, &["true"], [of_site, ("place", "main.request"), slept]);
    }
}

#[test]
fn a_static_program_is_traced_from_outside() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("patients", &["-O2", "-static"]) else { return };
    let expected =
        [("object", "cache_lock"), ("place", "write_back (patients.c:"), ("cause", "slept (nanosleep) in write_back")];
    assert_found(&programs, &program, &["sleeps"], expected);
    let traced = traced(&programs, &["--full"], &program, &["--unknown"]);
    assert_eq!(traced.record["parameters"]["exit_status"], 2);
    for code in ["no_library", "no_full"] {
        assert!(has_warning(&traced, code), "{code}: {}", traced.record["warnings"]);
    }
    // Locks can neither be substituted in it nor exported from it.
    let file = programs.path("waits");
    for flags in [&["--swap", "adaptive"][..], &["--what-if"], &["--export", "folded", file.to_str().unwrap()]] {
        let output = crate::programs::command(flags, &program, &["sleeps"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains("statically linked"), "{flags:?}: {stderr}");
    }
}

fn has_warning(traced: &Traced, code: &str) -> bool {
    traced.record["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
}
