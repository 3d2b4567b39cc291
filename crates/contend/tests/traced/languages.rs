//! The diagnosis of programs whose locks are not the C library's: of Rust, Python, Java, Go, OpenMP, and of programs that
//! cannot load contend's library.

use crate::programs::{Programs, Traced, traced};
use serde_json::Value;
use std::fs::{Permissions, set_permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

/// With privileges each wait counts; without, the states of the threads are sampled. The second program is a child of one
/// that calls no lock, and calls those of the C library.
#[test]
fn a_program_without_c_locks_is_traced_from_outside() {
    let programs = Programs::new();
    let program = programs.path("cache");
    if !compiles("rustc", &["-O", "-g", "--edition", "2024"], [&source("cache.rs"), &program], "-o") {
        return;
    }
    let traced = traced(&programs, &["--full"], &program, &[]);
    let warning = warning(&traced, "no_lock_calls").unwrap_or_else(|| panic!("{:#}", traced.record["warnings"]));
    let is_sampled = warning["message"].as_str().unwrap().contains("samples");
    let lock = traced.rows("lock").into_iter().find(|row| row["type"] == "mutex").unwrap();
    assert_eq!(lock["seen_by"] == "sampling", is_sampled, "{lock}");
    if is_sampled {
        return println!("skipped: needs CAP_PERFMON and tracefs");
    }
    assert!(lock["contended"].as_u64() > Some(20), "{lock}");
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let words = format!("sleep 0.1; {} sleeps", patients.display());
    let traced = crate::programs::traced(&programs, &[], Path::new("sh"), &["-c", &words]);
    assert!(traced.lock("cache_lock")["acquisitions"].as_u64() > Some(0), "{}", traced.record["warnings"]);
    assert!(!has_warning(&traced, "no_lock_calls"));
}

/// With privileges, the record of calls shows what the holder waits for.
#[test]
fn idle_workers_at_the_lock_of_a_channel_wait_for_work() {
    let programs = Programs::new();
    let program = programs.path("pool");
    if !compiles("rustc", &["-O", "-g", "--edition", "2024"], [&source("pool.rs"), &program], "-o") {
        return;
    }
    let traced = traced(&programs, &[], &program, &[]);
    if warning(&traced, "no_lock_calls").unwrap()["message"].as_str().unwrap().contains("samples") {
        return println!("skipped: needs CAP_PERFMON and tracefs");
    }
    let gate = traced.rows("lock").into_iter().find(|row| row["lock"].as_str().unwrap().starts_with("mutex of pool::"));
    let gate = gate.unwrap_or_else(|| panic!("{:#}", traced.record["results"]));
    assert_eq!((&gate["type"], &gate["holder_waits"][0]["type"]), (&"park".into(), &"channel".into()), "{gate}");
    assert_ne!(traced.record["parameters"]["verdict"], "locks", "{}", traced.record["parameters"]);
}

/// Runs `pool` as a user without privileges, up to four times, since other programs on the CPUs can be the larger problem in
/// one run.
fn assert_pool_without_root(words: &[&str], is_right: impl Fn(&Value, &[&Value]) -> bool) {
    const NOBODY: u32 = 65_534;
    let programs = Programs::new();
    let program = programs.path("pool");
    if !compiles("rustc", &["-O", "-g", "--edition", "2024"], [&source("pool.rs"), &program], "-o") {
        return;
    }
    set_permissions(program.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let wrong = || {
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        contend.env("CONTEND_ARCHIVE", "").args(["trace", "--format", "json", "--quiet"]).arg(&program).args(words);
        let Ok(output) = contend.uid(NOBODY).output() else {
            println!("skipped: needs root, to become a user without privileges");
            return None;
        };
        let record = crate::command::read(&output.stdout);
        let mut rows = record["results"].as_array().unwrap().iter();
        let is_gate = |row: &&Value| row["type"] == "mutex" && row["lock"].as_str().unwrap().contains("(pool.rs:33)");
        let findings: Vec<&Value> = rows.clone().filter(|row| row["kind"] == "finding").collect();
        let is_right = rows.any(|row| is_gate(&row)) && is_right(&record["parameters"], &findings);
        (!is_right).then(|| format!("{record:#}"))
    };
    let last = (0..4).map_while(|_| wrong()).collect::<Vec<_>>();
    assert!(last.len() < 4, "four times: {}", last[3]);
}

/// Samples do not show whether the holder waits for work, or for the answer of the thread that sleeps. They were once said
/// to show a lock that is a problem, with the place of a call that had ended.
#[test]
fn idle_workers_at_a_channel_are_undecided_without_root() {
    assert_pool_without_root(&[], |parameters, _| {
        assert_ne!(parameters["verdict"], "locks", "{parameters}");
        let is_said = parameters["verdict_reason"].as_str().unwrap().contains("may have held mutex of pool::");
        parameters["verdict"] == "undecided" && is_said
    });
}

#[test]
fn idle_workers_do_not_hide_another_lock_without_root() {
    assert_pool_without_root(&["log"], |parameters, findings| {
        let is_log = |row: &&Value| row["cause"].as_str().unwrap().contains("slept (nanosleep) in pool::write_log");
        parameters["verdict"] == "locks" && findings.len() == 1 && is_log(&findings[0])
    });
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

/// Returns whether there is a compiler for Java, and compiles the program in this file.
fn has_java(programs: &Programs, file: &str) -> bool {
    compiles("javac", &[], [&source(file), &programs.path("classes")], "-d")
}

/// Returns whether a thread that has bytes written waits for a tenth of a millisecond or more, as it does not in memory.
fn has_slow_disk(programs: &Programs) -> bool {
    const TIMES: u32 = 20;
    let mut file = std::fs::File::create(programs.path("disk")).unwrap();
    let began = Instant::now();
    (0..TIMES).for_each(|_| file.write_all(&[0; 4096]).and_then(|()| file.sync_all()).unwrap());
    began.elapsed() / TIMES > Duration::from_micros(100)
}

/// Returns the words by which Java runs the shop.
fn shop(programs: &Programs, kind: &str, seconds: u32) -> Vec<String> {
    let classes = programs.path("classes").to_str().unwrap().to_owned();
    ["-cp".to_owned(), classes, "Shop".to_owned(), kind.to_owned(), seconds.to_string()].into()
}

/// Returns the record of a trace of a program that runs, and that ends by itself.
fn attached(programs: &Programs, program: &str, words: &[String]) -> Value {
    let file = programs.path("attached.json");
    let mut running = Command::new(program).args(words).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").args(["trace", "--seconds", "4", "--quiet", "--format", "json", "--output"]);
    let output = contend.arg(&file).args(["--pid", &running.id().to_string()]).output().unwrap();
    assert!(running.wait().unwrap().success());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    crate::command::read(&std::fs::read(file).unwrap())
}

/// Launches a program and attaches to it, up to four times each, since other programs on the CPUs can be the larger problem in one
/// run. `wrong` says what is wrong in a record.
fn assert_both_ways(
    programs: &Programs,
    program: &str,
    words: impl Fn(u32) -> Vec<String>,
    wrong: fn(&Value) -> Option<String>,
) {
    let launched = || {
        let words = words(4);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        traced(programs, &[], Path::new(program), &words).record
    };
    let records: [(&str, &dyn Fn() -> Value); 2] =
        [("launched", &launched), ("attached", &|| attached(programs, program, &words(7)))];
    for (how, record) in records {
        let last = (0..4).map_while(|_| wrong(&record())).collect::<Vec<_>>();
        assert!(last.len() < 4, "{how}, four times: {}", last[3]);
    }
}

fn findings(record: &Value) -> Vec<&Value> {
    record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == "finding").collect()
}

/// Returns the verdict and the findings of a record if none of them has this rule, and these words in its place and its cause.
fn without(record: &Value, rule: &str, [place, cause]: [&str; 2]) -> Option<String> {
    let has = |row: &Value, field: &str, words: &str| row[field].as_str().unwrap_or_default().contains(words);
    let is_it = |row: &&Value| row["rule"] == rule && has(row, "place", place) && has(row, "cause", cause);
    let findings = findings(record);
    let is_right = record["parameters"]["verdict"] == "locks" && findings.len() == 1 && findings.iter().any(is_it);
    (!is_right).then(|| format!("{} {findings:#?}", record["parameters"]))
}

/// The machine's own threads wait for work, and for the thread dumps that contend requests.
#[test]
fn idle_java_program_has_no_locks() {
    let programs = Programs::new();
    if !has_java(&programs, "Shop.java") {
        return;
    }
    assert_both_ways(
        &programs,
        "java",
        |seconds| shop(&programs, "idle", seconds),
        |record| {
            let of_machine = |row: &&Value| {
                row["kind"] == "lock" && row["type"] == "lock" && row["lock"].as_str().unwrap().contains("libjvm.so")
            };
            let locks: Vec<&Value> = record["results"].as_array().unwrap().iter().filter(of_machine).collect();
            let is_right =
                record["parameters"]["verdict"] == "not_locks" && findings(record).is_empty() && locks.is_empty();
            (!is_right).then(|| format!("{} {locks:#?}", record["parameters"]))
        },
    );
}

#[test]
fn writer_of_a_java_lock_is_its_holder() {
    let programs = Programs::new();
    if has_java(&programs, "Shop.java") {
        assert_both_ways(
            &programs,
            "java",
            |seconds| shop(&programs, "book", seconds),
            |record| without(record, "holder_ran", ["Shop.reprice", "the holder ran"]),
        );
    }
}

#[test]
fn threads_inside_of_a_java_semaphore_are_named() {
    let programs = Programs::new();
    if has_java(&programs, "Shop.java") {
        assert_both_ways(
            &programs,
            "java",
            |seconds| shop(&programs, "permits", seconds),
            |record| {
                without(
                    record,
                    "pool_too_small",
                    ["Shop.call (Shop.java:", "the threads inside of it slept in Shop.call"],
                )
            },
        );
    }
}

#[test]
fn io_in_a_java_monitor_is_io() {
    let programs = Programs::new();
    if !has_slow_disk(&programs) {
        return println!("skipped: needs a disk that a file's bytes wait for");
    }
    if has_java(&programs, "Shop.java") {
        assert_both_ways(
            &programs,
            "java",
            |seconds| shop(&programs, "file", seconds),
            |record| {
                without(
                    record,
                    "holder_blocked",
                    ["Shop.persist (Shop.java:", "waited for I/O (fsync) in Shop.persist"],
                )
            },
        );
    }
}

#[test]
fn full_java_pool_is_named_with_its_tasks() {
    let programs = Programs::new();
    if has_java(&programs, "Shop.java") {
        assert_both_ways(
            &programs,
            "java",
            |seconds| shop(&programs, "pool", seconds),
            |record| {
                let reason = record["parameters"]["verdict_reason"].as_str().unwrap_or_default();
                let parts = ["Shop.ask (Shop.java:", "All 2 threads of the pool", "slept in Shop.fetch (Shop.java:"];
                let is_right =
                    record["parameters"]["verdict"] == "not_locks" && parts.iter().all(|part| reason.contains(part));
                (!is_right).then(|| record["parameters"].to_string())
            },
        );
    }
}

/// Returns the words by which Python runs the waits.
fn waits_of_python(kind: &str, seconds: u32) -> Vec<String> {
    [source("waits.py").to_str().unwrap().to_owned(), kind.to_owned(), seconds.to_string()].into()
}

/// The place was once that of the waiters, and attached a function of the interpreter. There the holder is known in windows alone.
#[test]
fn holder_of_a_python_lock_is_where_it_ran() {
    let programs = Programs::new();
    if !has_python() {
        return;
    }
    assert_both_ways(
        &programs,
        "python3",
        |seconds| waits_of_python("table", seconds),
        |record| {
            let findings = findings(record);
            let has = |row: &&Value, words: &str| row["place"].as_str().unwrap().contains(words);
            let is_launched = record["parameters"]["attached_pid"].is_null();
            let is_known = !is_launched || findings.iter().any(|row| has(row, "export_rows"));
            let is_of_python = findings.iter().all(|row| !has(row, ".c:"));
            let is_right = record["parameters"]["verdict"] == "locks" && is_known && is_of_python;
            (!is_right).then(|| format!("{} {findings:#?}", record["parameters"]))
        },
    );
}

/// Launches a Python program, up to four times. `wrong` says what is wrong in the parameters of a record.
fn assert_python(kind: &str, wrong: fn(&str, &str) -> bool) {
    let programs = Programs::new();
    if !has_python() {
        return;
    }
    let words = waits_of_python(kind, 4);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let wrong = || {
        let parameters = &traced(&programs, &[], Path::new("python3"), &words).record["parameters"];
        let [verdict, reason] =
            ["verdict", "verdict_reason"].map(|field| parameters[field].as_str().unwrap_or_default());
        wrong(verdict, reason).then(|| parameters.to_string())
    };
    let last = (0..4).map_while(|_| wrong()).collect::<Vec<_>>();
    assert!(last.len() < 4, "four times: {}", last[3]);
}

#[test]
fn python_lock_that_is_tried_between_sleeps_is_undecided() {
    assert_python("slot", |verdict, reason| verdict != "undecided" || !reason.contains("mostly in claim (waits.py:"));
}

#[test]
fn waits_for_room_in_a_python_queue_have_their_function() {
    assert_python("room", |verdict, reason| {
        verdict != "not_locks" || !reason.contains("Condition.wait in produce (waits.py:")
    });
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

/// The one that had the mutex for long is named, not those that released it to the others.
#[test]
fn goroutines_wait_for_permits_and_for_the_longest_holder() {
    let programs = Programs::new();
    let program = programs.path("permits");
    if !compiles("go", &["build"], [&source("permits.go"), &program], "-o") {
        return;
    }
    if has_warning(&traced(&programs, &[], &program, &[]), "unseen_goroutines") {
        return println!("skipped: needs CAP_PERFMON and uprobes");
    }
    let slept = ("cause", "slept in main.fetch");
    assert_found(&programs, &program, &[], [("rule", "pool_too_small"), ("place", "main.fetch (permits.go:"), slept]);
    let place = ("place", "main.rebuild (permits.go:");
    assert_found(&programs, &program, &["table"], [("object", "main.table"), place, ("rule", "holder_ran")]);
    // A writer that waits for readers keeps the others waiting: the readers are to blame.
    let place = ("place", "main.scan (permits.go:");
    assert_found(&programs, &program, &["pages"], [("object", "main.pages"), place, ("rule", "holder_blocked")]);
}

#[test]
fn single_waits_of_goroutines_are_exported() {
    let programs = Programs::new();
    let program = programs.path("cache");
    if !compiles("go", &["build"], [&source("cache.go"), &program], "-o") {
        return;
    }
    let [folded, perfetto] = ["waits.folded", "waits.pftrace"].map(|name| programs.path(name));
    let flags = ["--export", "folded", folded.to_str().unwrap(), "--export", "perfetto", perfetto.to_str().unwrap()];
    let traced = traced(&programs, &flags, &program, &[]);
    if has_warning(&traced, "unseen_goroutines") {
        return println!("skipped: needs CAP_PERFMON and uprobes");
    }
    let text = std::fs::read_to_string(&folded).unwrap();
    let of_it = text.lines().filter(|line| line.starts_with("main.cache;main.request (cache.go:"));
    let us: f64 = of_it.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum();
    let waited_s = traced.lock("main.cache")["wait_total_s"].as_f64().unwrap();
    assert!((0.5e6..1.5e6).contains(&(us / waited_s)), "{us} µs of {waited_s} s: {text}");
    let bytes = std::fs::read(&perfetto).unwrap();
    assert!(
        String::from_utf8_lossy(&bytes).contains("goroutine, number 1 by contend, of process "),
        "{} bytes",
        bytes.len()
    );
}

/// Such a program has the C library, as one that resolves names does, and so loads contend's library.
#[test]
fn goroutines_of_a_program_with_the_c_library_have_their_mutex() {
    let programs = Programs::new();
    let program = programs.path("cgo");
    let files = ["cache.go", "cgo.go"].map(source);
    let build = Command::new("go").args(["build", "-o"]).arg(&program).args(files).env("CGO_ENABLED", "1").output();
    if !build.is_ok_and(|output| output.status.success()) {
        return println!("skipped: needs go and cc");
    }
    if has_warning(&traced(&programs, &[], &program, &[]), "unseen_goroutines") {
        return println!("skipped: needs CAP_PERFMON and uprobes");
    }
    let slept = ("cause", "that held it slept in main.request");
    assert_found(&programs, &program, &[], [("object", "main.cache"), ("place", "main.request (cache.go:"), slept]);
}

/// Lines of `--interval`, and the record of each part.
#[test]
fn goroutines_are_seen_while_the_program_runs() {
    let programs = Programs::new();
    let program = programs.path("cache");
    if !compiles("go", &["build"], [&source("cache.go"), &program], "-o") {
        return;
    }
    let records = programs.path("records");
    std::fs::create_dir(&records).unwrap();
    let out = ["--output", records.to_str().unwrap(), "--format", "json"];
    let flags = [&["--interval", "200ms", "--every", "1s"][..], &out].concat();
    let output = crate::programs::command(&flags, &program, &[]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if stderr.contains("were not seen") {
        return println!("skipped: needs CAP_PERFMON and uprobes");
    }
    assert!(stderr.lines().any(|line| line.contains(" for main.cache")), "{stderr}");
    let files: Vec<PathBuf> = std::fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path()).collect();
    let parts = files.iter().map(|file| crate::command::read(&std::fs::read(file).unwrap()));
    let waited_and_elapsed = |part: Value| {
        let rows = part["results"].as_array().unwrap();
        let of_it = rows.iter().filter(|row| row["kind"] == "lock" && row["lock"] == "main.cache");
        let waited_s: f64 = of_it.map(|row| row["wait_total_s"].as_f64().unwrap()).sum();
        (waited_s, part["parameters"]["elapsed_s"].as_f64().unwrap())
    };
    let parts: Vec<(f64, f64)> = parts.map(waited_and_elapsed).collect();
    let sums = parts.iter().fold((0.0, 0.0), |(waited, elapsed), part| (waited + part.0, elapsed + part.1));
    // Of four goroutines, and each wait is in one part.
    assert!(parts.len() >= 2 && sums.0 > 0.0 && sums.0 <= 4.0 * sums.1, "{parts:?} {stderr}");
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
    let reason = warning(&traced, "no_library").unwrap()["message"].as_str().unwrap();
    let is_sampled = reason.contains("samples");
    let file = programs.path("waits");
    let export = ["--export", "folded", file.to_str().unwrap()];
    if !is_sampled {
        crate::programs::traced(&programs, &export, &program, &["sleeps"]);
        let stacks = std::fs::read_to_string(&file).unwrap();
        assert!(stacks.lines().any(|line| line.starts_with("cache_lock;") && line.contains("(patients.c")), "{stacks}");
    }
    // Locks cannot be substituted in it.
    let refused = [&["--swap", "adaptive"][..], &["--what-if"], &export];
    for flags in refused.into_iter().take(if is_sampled { 3 } else { 2 }) {
        let output = crate::programs::command(flags, &program, &["sleeps"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains("statically linked"), "{flags:?}: {stderr}");
    }
}

fn warning<'a>(traced: &'a Traced, code: &str) -> Option<&'a Value> {
    traced.record["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == code)
}

fn has_warning(traced: &Traced, code: &str) -> bool {
    warning(traced, code).is_some()
}
