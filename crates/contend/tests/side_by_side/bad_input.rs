//! Wrong flags, and refusals of the system: one clear message each, and the right exit status.

use crate::command::{contend, read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Returns the exit status and the text on stderr; stdout must stay empty.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = contend(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    (output.status.code().expect("it ends by itself"), String::from_utf8(output.stderr).unwrap())
}

/// A call, and the words of its message: the flag, the value, and what is allowed.
type Wrong = (&'static [&'static str], &'static [&'static str]);

const WRONG: &[Wrong] = &[
    (&["latency", "--hold", "-1"], &["--hold", "-1", "unit"]),
    (&["latency", "--hold", "-1us"], &["--hold", "-1us", "negative"]),
    (&["latency", "--hold", "5parsecs"], &["--hold", "5parsecs", "use ns, us, ms, s, min or h"]),
    (&["latency", "--hold", "1s"], &["--hold", "1s", "at most 10ms"]),
    (&["throughput", "--hold", "1s"], &["too short for --hold and --nonhold", "--run"]),
    (&["latency", "--threads", "0"], &["--threads", "0", "1.."]),
    (&["latency", "--threads", "many"], &["--threads", "many"]),
    (&["latency", "--lock", "foo"], &["--lock", "foo", "sysv", "benaphore", "parking_lot"]),
    (&["latency", "--competitors", "-1"], &["-1"]),
    (&["latency", "--precision", "5"], &["--precision", "5", "between 0 and 1"]),
    (&["latency", "--placement", "everywhere"], &["--placement", "everywhere", "one-cpu", "one-core", "spread"]),
    (&["latency", "--placement", "99999"], &["99999"]),
    (&["latency", "--placement", "4095"], &["--placement", "4095"]),
    (&["latency", "--seconds", "0"], &["--seconds", "0", "greater than 0"]),
    (&["latency", "--seconds", "-3"], &["--seconds", "-3", "negative"]),
    (&["clock", "--seconds", "2h"], &["--seconds", "7200 s", "at most an hour", "noise"]),
    (&["clock", "--until-signal"], &["--until-signal", "does not take this option"]),
    (&["noise", "--seconds", "169h"], &["--seconds", "169h", "at most a week"]),
    (&["clock", "--seconds", "inf"], &["--seconds", "inf", "at most a week"]),
    (&["noise", "--until-signal", "--seconds", "5"], &["--until-signal", "--seconds"]),
    (&["noise", "--seconds", "8h", "--trace", "x"], &["--trace", "--seconds to 1h"]),
    (&["noise", "--stop-above", "100ns"], &["--stop-above", "100ns", "at least 1us"]),
    (&["noise", "--wake", "10us"], &["--wake", "10us", "at least 50us"]),
    (&["noise", "--wake", "1ms", "--policy", "fifo"], &["--policy", "fifo", "priority is missing"]),
    (&["noise", "--wake", "1ms", "--policy", "rr:1"], &["--policy", "rr:1", "fifo:N"]),
    (&["noise", "--policy", "fifo:1"], &["--wake"]),
    (&["noise", "--wake", "1ms", "--scenario", "quiet"], &["--wake", "--scenario"]),
    (&["noise", "--wake", "1ms", "--policy", "deadline", "--cpus", "all"], &["--policy deadline", "--cpus"]),
    (&["noise", "--wake", "1ms", "--cpus", "4095"], &["--cpus", "4095", "does not exist or is offline"]),
    (&["clock", "--seconds", "nan"], &["--seconds", "nan", "not a number"]),
    (&["clock", "--seed", "1.5"], &["--seed", "1.5", "whole number"]),
    (&["clock", "--seed", "x"], &["--seed", "1_000, 10k, 1M or 1e9"]),
    (&["ring", "--hops", "1e18"], &["--hops", "1e18", "from 0 to 4000000000"]),
    (&["ring", "--threads", "1x3"], &["--threads", "1x3", "not a count"]),
    (&["clock", "--longest", "1"], &["--longest", "unit"]),
    (&["throughput", "--children", "0"], &["--children", "0", "1.."]),
    (&["throughput", "--locks", "3", "--children", "2,4"], &["--locks 3", "--children (2)"]),
    (&["throughput", "--share", "120"], &["--share", "120", "0..=100"]),
    (&["throughput", "--share", "20", "--lock", "std"], &["--lock std", "no read mode", "--share 20"]),
    (&["throughput", "--processes", "--lock", "std"], &["--lock std", "processes cannot share it"]),
    (&["throughput", "--run", "0"], &["--run", "greater than 0"]),
    (&["noise", "--weight-ratio", "0.5"], &["--weight-ratio", "0.5", "from 1 to 5917"]),
    (&["noise", "--weight-ratio", "1e6"], &["--weight-ratio", "1e6", "from 1 to 5917"]),
    (&["noise", "--nice", "-30,0"], &["--nice", "-30", "-20 to 19"]),
    (&["noise", "--nice", "5"], &["--nice", "two values"]),
    (&["noise", "--rescheduler", "0"], &["--rescheduler", "at least 50us"]),
    (&["noise", "--rescheduler", "10us"], &["--rescheduler", "10us", "at least 50us"]),
    (&["noise", "--cpu", "4095"], &["--cpus", "4095", "does not exist or is offline"]),
    (&["noise", "--samples", "many"], &["--samples", "many", "not a count", "1M"]),
    (&["noise", "--competitors", "0"], &["--competitors", "0", "from 1 to 64"]),
    (&["noise", "--scenario", "loud"], &["--scenario", "loud", "quiet"]),
    (&["noise", "--interval", "1ms"], &["--interval", "10ms"]),
    (&["noise", "--view", "json"], &["--interval"]),
    (&["noise", "--interval", "1s", "--format", "json"], &["--interval", "--view json", "--output"]),
    (&["noise", "--trace", "x", "--scenario", "quiet,competitor"], &["--trace", "one scenario"]),
    (&["clock", "--format", "ulockflex"], &["ulockflex", "text, json, csv"]),
    (&["survey", "--only", "locks"], &["--only", "locks", "clock, latency", "model"]),
    (&["survey", "--only", ""], &["--only", "clock, latency"]),
    (&["survey", "--only", "clock", "--skip", "ring"], &["--only", "--skip", "cannot be used with"]),
    (
        &["survey", "--skip", "clock,latency,throughput,noise,load,ring,model"],
        &["--skip", "no experiment is left", "clock, latency, throughput, noise, load, ring, model"],
    ),
    (&["--only", "clock"], &["unexpected", "--only"]),
    (&["survey", "--page", "-"], &["--page -", "give a file name"]),
    (&["survey", "--page", "x", "--output", "x"], &["--page x", "--output writes the record there"]),
    (&["survey", "--page", "x", "--no-page"], &["--page", "--no-page"]),
    (&["survey", "--page", "Cargo.toml"], &["--page Cargo.toml", "not a report of contend", "another file"]),
    (&["--cpus", "4095"], &["--cpus", "4095"]),
    (&["--cpus", "one"], &["--cpus", "one"]),
    (&["--cpus", ""], &["--cpus"]),
    (&["--format", "yaml"], &["--format", "yaml", "json"]),
    (&["--seed", "x"], &["--seed", "x"]),
    (&["nonsense"], &["nonsense"]),
    (&["clock", "--longest", "5min"], &["--longest 300s", "budget of 20.0s", "--seconds"]),
    (&["clock", "--longest", "1us"], &["--longest", "longer than 10us"]),
    (&["noise", "--scenario", "quiet", "--competitors", "3"], &["--competitors", "none of the scenarios"]),
    (&["noise", "--scenario", "competitor", "--rescheduler", "1ms"], &["--rescheduler", "none of the scenarios"]),
    (&["noise", "--remedies", "--rescheduler", "1ms"], &["--rescheduler", "--remedies", "cannot be used with"]),
    (&["load", "--view", "graph", "--seconds", "1"], &["--view graph", "needs a terminal", "--view lines"]),
    (&["load", "--view", "lines", "--format", "csv", "--seconds", "1"], &["--view lines", "--output FILE"]),
    (&["man", "--seconds", "3"], &["--seconds", "contend man", "does not take this option"]),
    (&["--seconds", "3", "man"], &["--seconds", "contend man", "does not take this option"]),
    (&["history", "verify", "--format", "json"], &["--format", "contend history verify"]),
    (&["history", "--explain"], &["--explain", "contend history"]),
    (&["report", "--no-keep"], &["--no-keep", "contend report"]),
    (&["latency", "--lock", "mutex"], &["--lock mutex", "std or pthread", "list"]),
    (&["latency", "--lock", "spinlock"], &["--lock spinlock", "ticket or mcs"]),
    (&["throughput", "--lock", "Semaphore"], &["posix or sysv"]),
    (&["latency", "--threads", "two"], &["--threads", "two", "not a whole number"]),
    (&["trace", "--pid", "abc"], &["--pid", "abc", "not a whole number"]),
    (&["trace", "-p", "0"], &["0 is not in 1.."]),
    (&["latency", "-t", "2"], &["-t", "ambiguous", "--threads", "--seconds"]),
    (&["noise", "-i", "200"], &["-i", "--wake TIME"]),
    (&["noise", "-a", "1"], &["-a", "--cpus LIST"]),
    (&["noise", "-b", "100"], &["-b", "--stop-above"]),
    (&["noise", "-l", "1000"], &["-l", "--seconds"]),
    (&["noise", "-p", "80"], &["-p", "--policy fifo:N"]),
    (&["noise", "-S"], &["-S", "--cpus all"]),
    (&["noise", "-m"], &["-m", "no such option"]),
    (&["clock", "--histogram"], &["--histogram", "contend report"]),
    (&["clock", "--timeout", "3"], &["--timeout", "--seconds TIME"]),
    (&["clock", "--verbose"], &["--verbose", "--explain"]),
    (&["clock", "--html"], &["--html", "contend report"]),
    (&["clock", "--dry-run"], &["--dry-run", "--explain"]),
    (&["clock", "--no-save"], &["--no-save", "--no-keep"]),
    (&["latency", "--locks", "std"], &["--locks", "--lock NAMES"]),
    (&["ab", "--export-json", "x", "a", "b"], &["--export-json", "--format json"]),
    (&["record", "./server"], &["record", "contend trace"]),
    (&["stat"], &["stat", "contend trace"]),
    (&["cyclictest"], &["contend noise --wake"]),
    (&["oslat"], &["oslat", "contend noise"]),
    (&["hyperfine"], &["contend ab"]),
    (&["locks"], &["--lock list"]),
    (&["ls"], &["contend history"]),
    (&["show", "last"], &["contend history show"]),
    (&["rm", "last"], &["contend history rm"]),
    (&["diff"], &["contend compare last~1 last"]),
    (&["html"], &["contend report last"]),
    (&["verify"], &["contend history verify"]),
    (&["history", "--format", "html"], &["--format html", "contend report last"]),
    (&["ladder", "--format", "svg"], &["--format svg", "contend ladder --output"]),
    (&["clock", "--format", "md"], &["markdown"]),
    (&["history", "rm"], &["RECORD"]),
    (&["./nosuch"], &["./nosuch", "No such file"]),
    (&["run", "nosuch-program"], &["nosuch-program", "not found in PATH"]),
    (&["--", "nosuch-program"], &["nosuch-program", "not found in PATH"]),
    (&["trace", "--", "ls -la"], &["ls -la", "omit the quotes"]),
    (&["latency", "--lock", "/etc/passwd"], &["--lock /etc/passwd", "not a shared object"]),
    (&["latency", "--lock", "./nosuch.so"], &["--lock ./nosuch.so", "does not exist"]),
    (&["latency", "--lock", "/tmp/"], &["--lock /tmp/", "a directory"]),
    (&["latency", "--lock", "std", "foo"], &["--lock", "foo"]),
    (&["latency", "--duration", "5parsecs"], &["--seconds", "5parsecs"]),
    (&["clock", "-D", "0"], &["--seconds", "greater than 0"]),
    (&["clock", "--cpu", "4095"], &["--cpus", "4095"]),
    (&["model", "frames", "--cpus", "0"], &["--cpus", "contend model frames"]),
];

#[test]
fn wrong_flags_exit_with_2_and_name_flag_value_and_remedy() {
    for (arguments, words) in WRONG {
        let (status, stderr) = refused(arguments);
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn a_cpu_outside_the_affinity_mask_is_refused() {
    let here = instruments::cpus::allowed().unwrap();
    let Some(other) = here.iter().nth(1) else { return eprintln!("skipped: needs two CPUs") };
    let first = here.first().unwrap();
    // The mask is inherited by the command.
    instruments::cpus::pin_current_thread(first).unwrap();
    let (status, stderr) = refused(&["latency", "--cpus", &other.to_string()]);
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains(&format!("{other}")) && stderr.contains("affinity"), "{stderr}");
}

#[test]
fn more_threads_than_the_system_allows_fail_with_1() {
    let Some(output) = as_nobody_with_40_threads(&["latency", "--threads", "400", "--seconds", "0.1", "--quiet"])
    else {
        return eprintln!("skipped: needs root, to become a user that has a limit");
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("threads") && stderr.contains("ulimit -u"), "{stderr}");
}

/// Runs as an unprivileged user with a limit of threads, since root has none.
fn as_nobody_with_40_threads(arguments: &[&str]) -> Option<Output> {
    const NOBODY: u32 = 65_534;
    let limit = || {
        let limit = rustix::process::Rlimit { current: Some(40), maximum: Some(40) };
        Ok(rustix::process::setrlimit(rustix::process::Resource::Nproc, limit)?)
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "");
    command.args(arguments).uid(NOBODY);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(limit) };
    command.output().ok()
}

#[test]
fn unwritable_output_is_reported_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/folder/record.json");
    for place in [missing.to_str().unwrap(), folder.path().to_str().unwrap()] {
        let began = std::time::Instant::now();
        let (status, stderr) = refused(&["latency", "--seconds", "600", "--output", place]);
        assert_eq!(status, 1, "{stderr}");
        assert!(stderr.contains("--output") && stderr.contains(place), "{stderr}");
        assert!(began.elapsed().as_secs() < 300, "it measured first");
    }
}

/// A full disk: the record is printed instead, and no file is left.
#[test]
fn full_disk_loses_no_record() {
    let output = contend(&[
        "latency",
        "--lock",
        "std",
        "--seconds",
        "0.1",
        "--quiet",
        "--format",
        "json",
        "--output",
        "/dev/full",
    ]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("/dev/full") && stderr.contains("printed instead"), "{stderr}");
    read(&output.stdout);
}

/// The destination that could not be written is named, also where it has no name.
#[test]
fn a_full_disk_behind_standard_output_is_named() {
    for argument in ["schema", "--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_contend")).arg(argument).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{argument}: {stderr}");
        assert!(stderr.contains("cannot write to standard output: No space left"), "{argument}: {stderr}");
    }
}

#[test]
fn file_is_replaced_atomically_and_no_draft_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    std::fs::write(&file, "old").unwrap();
    let output = contend(&[
        "latency",
        "--lock",
        "std",
        "--seconds",
        "0.1",
        "--format",
        "json",
        "--output",
        file.to_str().unwrap(),
    ]);
    assert!(output.status.success() && output.stdout.is_empty());
    let text = std::fs::read_to_string(&file).unwrap();
    read(text.as_bytes());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A link is followed: replacing `/dev/stdout` would take it from every program.
#[test]
fn an_output_that_is_a_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("record.json"), folder.path().join("link"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let output = contend(&[
        "latency",
        "--lock",
        "std",
        "--seconds",
        "0.1",
        "--format",
        "json",
        "--output",
        link.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().starts_with('{'));
}

#[test]
fn closed_reader_is_not_an_error() {
    let script = format!("{} latency --lock list 2>&1 | true; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_contend"));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
}

/// An error found after parsing reads like one of the parser: with the usage of the command.
#[test]
fn usage_is_that_of_the_requested_command() {
    for (words, usage) in [
        (&["clock", "--cpus", "4000"][..], "Usage: contend clock"),
        (&["model", "frames", "--priorities", "3"], "Usage: contend model frames"),
        (&["history", "--since", "2"], "Usage: contend history"),
    ] {
        let archive = tempfile::tempdir().unwrap();
        let missing = archive.path().join("missing");
        let place = ["--archive", missing.to_str().unwrap()];
        let (status, stderr) = refused(&[words, &place].concat());
        assert_eq!(status, 2, "{words:?}: {stderr}");
        assert!(stderr.contains(usage), "{words:?}: {stderr}");
    }
}

/// The message names the user's file and the problem of its directory, and not contend's temporary file.
#[test]
fn unwritable_path_is_reported_as_the_user_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, file) = (folder.path().join("missing"), folder.path().join("file"));
    std::fs::write(&file, "").unwrap();
    for (flag, call) in [("--output", "clock"), ("--metrics", "load"), ("--page", "survey")] {
        for (place, why) in [(missing.join("x"), "does not exist"), (file.join("x"), "is not a directory")] {
            let (status, stderr) = refused(&[call, "--seconds", "1", flag, place.to_str().unwrap()]);
            let is_named = stderr.contains(place.to_str().unwrap()) && stderr.contains(why);
            assert!(status == 1 && is_named && !stderr.contains(".contend-"), "{call} {flag}: {stderr}");
        }
    }
}

/// Units and counts have several forms.
#[test]
fn times_and_counts_are_accepted_in_several_forms() {
    for words in [
        &["model", "frames", "--frame", "0.001h", "--quantum", "1_000us,1e3\u{b5}s", "--seed", "1e9"][..],
        &["model", "frames", "--frame", "1min", "--quantum", "5s", "--seed", "18446744073709551615"],
    ] {
        let output = contend(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
