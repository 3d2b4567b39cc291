//! The rules of POSIX and the C library's manual for mutexes and condition variables, asserted by C programs.
//!
//! They run with the C library's locks and with each substituted one, and have the same results, line by line.

use exchange::{CHOICE, COUNTS, Counts, LOCKS, PASS, library};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::Ordering::Relaxed;

/// Compiles a program of `tests/programs`; prints a message and returns `None` without a compiler.
fn compiled(folder: &tempfile::TempDir, name: &str) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let program = folder.path().join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread", "-o"]).arg(&program).arg(sources.join(name).with_extension("c"));
    let Ok(output) = compiler.output() else {
        println!("skipped: needs cc");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn run(program: &Path, arguments: &[&str], preload: Option<(&str, &str)>) -> Output {
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some((library, lock)) = preload {
        command.env("LD_PRELOAD", library).env(CHOICE, lock);
    }
    command.output().unwrap()
}

fn lines(output: &Output) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{:?} {stderr}", output.status);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Runs the program plainly and with each lock, at the same time, since they mostly wait; returns the number of its
/// lines.
fn same_with_each(name: &str, of: impl Fn(&str) -> Vec<&'static str>) -> Option<usize> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, name)?;
    let (_file, path) = library().unwrap();
    let locks = || LOCKS.iter().map(|lock| lock.name).chain([PASS]);
    let (plain, exchanged) = std::thread::scope(|scope| {
        let (program, path, of) = (&program, path.as_str(), &of);
        let plain_arguments = of("plain");
        let plain = scope.spawn(move || run(program, &plain_arguments, None));
        let start = |lock: &'static str| {
            let arguments = of(lock);
            (lock, scope.spawn(move || run(program, &arguments, Some((path, lock)))))
        };
        let all: Vec<_> = locks().map(start).collect();
        let all: Vec<_> = all.into_iter().map(|(lock, run)| (lock, run.join().unwrap())).collect();
        (plain.join().unwrap(), all)
    });
    let plain = lines(&plain);
    for (lock, output) in exchanged {
        let seen = lines(&output);
        let different = plain.iter().zip(&seen).find(|(plain, seen)| plain != seen);
        assert!(different.is_none() && plain.len() == seen.len(), "{name} with {lock}: {different:?}");
    }
    Some(plain.len())
}

#[test]
fn mutexes_of_every_kind_behave_like_the_c_librarys() {
    let lines = same_with_each("mutexes", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines > 250), "{lines:?}");
}

#[test]
fn condition_variables_behave_like_the_c_librarys() {
    let lines = same_with_each("conditions", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines > 140), "{lines:?}");
}

#[test]
fn reader_writer_locks_behave_like_the_c_librarys() {
    let lines = same_with_each("rwlocks", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines > 400), "{lines:?}");
}

#[test]
fn spin_locks_behave_like_the_c_librarys() {
    let lines = same_with_each("spins", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines > 50), "{lines:?}");
}

#[test]
fn c11_objects_behave_like_the_c_librarys() {
    let lines = same_with_each("c11", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines > 40), "{lines:?}");
}

#[test]
fn forked_children_continue_with_held_and_awaited_locks() {
    same_with_each("forks", |_| vec![]);
}

/// The variable with the number of tokens through each queue, in the long form: with a million, millions of waits.
const TOKENS: &str = "CONTEND_TOKENS";

#[test]
fn no_wake_up_is_lost_under_mixed_operations() {
    let sleeps = |name: &str| LOCKS.iter().all(|lock| lock.name != name || lock.sleeps);
    let asked: Option<&'static str> = std::env::var(TOKENS).ok().map(|tokens| &*tokens.leak());
    let tokens = |lock: &str| asked.unwrap_or(if sleeps(lock) { "5000" } else { "1000" });
    // A caller that requests more knows how long they take.
    same_with_each("torture", |lock| vec![tokens(lock), if asked.is_some() { "3600" } else { "300" }]);
}

#[test]
fn signal_is_not_lost_to_a_real_time_thread_that_waits_later() {
    let lines = same_with_each("stolen", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines == 1), "{lines:?}");
}

#[test]
fn interrupted_wait_acquires_a_free_lock_after_its_deadline() {
    let lines = same_with_each("interrupted", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines == 3), "{lines:?}");
}

#[test]
fn program_can_disable_the_cpu_counter() {
    let lines = same_with_each("counter", |_| vec![]);
    assert!(lines.is_none_or(|lines| lines == 1), "{lines:?}");
}

#[test]
fn allocator_with_locks_is_not_called_recursively() {
    same_with_each("allocator", |_| vec![]);
}

#[test]
fn objects_left_to_the_c_library_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(&folder, "mutexes") else { return };
    let (_file, path) = library().unwrap();
    let counts = Counts::new().unwrap();
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", path).env(COUNTS, counts.path());
    lines(&command.output().unwrap());
    let left = counts.left();
    let [robust, priority, shared] = [&left.robust, &left.priority, &left.shared].map(|count| count.load(Relaxed));
    assert_eq!([left.processes.load(Relaxed), robust, priority, shared], [1, 1, 1, 1]);
}

#[test]
fn unknown_lock_is_reported_and_the_c_librarys_stay() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(&folder, "c11") else { return };
    let (_file, path) = library().unwrap();
    let output = run(&program, &[], Some((&path, "nonesuch")));
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("ULOCKS_PTHREAD: unknown lock"));
    assert_eq!(output.stdout, run(&program, &[], None).stdout);
}
