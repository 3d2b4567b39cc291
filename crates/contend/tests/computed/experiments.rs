//! Options of the experiments with which nothing is measured or traced: refused ones, and lists.

use crate::command::contend;
use crate::command::terminal::Terminal;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `contend` without a terminal.
fn without_terminal(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn ignoring_the_sibling_is_refused() {
    let output = contend(&["core", "--neighbour", "ignore"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--neighbour ignore"));
}

#[test]
fn a_limit_that_everything_exceeds_is_refused() {
    let output = contend(&["latency", "--stop-above", "500ns"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at least 1us"));
}

#[test]
fn throughput_refuses_stop_above_with_an_alternative() {
    let output = contend(&["throughput", "--stop-above", "1ms"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`contend latency --stop-above`"));
    assert!(!String::from_utf8_lossy(&contend(&["throughput", "--help"]).stdout).contains("stop-above"));
}

#[test]
fn wrong_flags_of_load_exit_with_2_and_name_what_is_allowed() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--interval", "0"], &["--interval", "at least 100ms"]),
        (&["--interval", "1ms"], &["--interval", "at least 100ms"]),
        (&["--interval", "-1s"], &["--interval", "negative"]),
        (&["--interval", "10min"], &["--interval", "at most 1min"]),
        (&["--priority", "20"], &["--priority", "20", "-20 to 19"]),
        (&["--priority", "-21"], &["--priority", "-21", "-20 to 19"]),
        (&["--priority", "fifo:100"], &["--priority", "1 to 99"]),
        (&["--priority", "fifo", "--grinders", "2"], &["--grinders 2", "--priority fifo", "must sleep"]),
        (&["--grinders", "0"], &["--grinders", "from 1 to 64"]),
        (&["--view", "json", "--format", "json"], &["--view json", "--output FILE"]),
        (&["--view", "tea"], &["--view", "graph"]),
        (&["--cpus", "4095"], &["--cpus", "4095"]),
    ];
    for (arguments, words) in cases {
        let output = contend(&[&["load"], *arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
        words.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
    }
}

#[test]
fn unwritable_metrics_file_is_reported_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/folder/load.prom");
    for place in [missing.to_str().unwrap(), folder.path().to_str().unwrap(), "/dev/full"] {
        let output = contend(&["load", "--seconds", "600", "--metrics", place]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(output.stdout.is_empty() && stderr.contains("--metrics") && stderr.contains(place), "{stderr}");
    }
    assert!(!Path::new("/dev/full").metadata().unwrap().is_file(), "the device was replaced");
}

#[test]
fn flags_of_one_cpu_are_refused_for_several() {
    for flags in [&["--scenario", "competitor"][..], &["--remedies"], &["--interval", "1s"]] {
        let output = contend(&[&["noise", "--cpus", "all"], flags].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains("--cpus all") && stderr.contains("--cpus N"), "{stderr}");
    }
    let output = contend(&["noise", "--cpus", "0-4095"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn invalid_ring_flags_exit_with_2_and_name_allowed_values() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["--contestant", "cobol"], 2, &["--contestant cobol", "--list"]),
        (&["--class", "postbox"], 2, &["--class", "postbox", "mailbox", "os-block"]),
        (&["--class", "limit"], 2, &["--class", "limit"]),
        (&["--class", "channel", "--contestant", "rust-fifo"], 2, &["--class"]),
        (&["--threads", "0"], 2, &["--threads", "0", "from 1 to 10000000"]),
        (&["--hops", "-1"], 2, &["-1"]),
        (&["--hops", "9000000000"], 2, &["--hops", "4000000000"]),
        (&["--contestant", "rust-futex", "--threads", "20000"], 2, &["rust-futex", "10000", "20000"]),
        (&["--contestant", "rust-futex", "--hops", "4000000000"], 2, &["rust-futex", "--timeout"]),
        (&["--placement", "there"], 2, &["--placement", "pinned"]),
        (&["--timeout", "0"], 2, &["--timeout", "greater than 0"]),
        (&["--alone", "rust-fifo", "3", "x"], 2, &["--alone", "x"]),
        (&["--recipe", "/no/such/folder"], 1, &["--recipe", "/no/such/folder"]),
        (&["--recipe", nowhere], 1, &["--recipe", "recipe.toml"]),
    ];
    for (arguments, status, words) in cases {
        let output = contend(&[&["ring"], *arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{arguments:?}: {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}: {stderr}"));
        assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn variations_that_exclude_each_other_are_refused() {
    for (flags, message) in [
        ("--zipf 1", "--zipf 1: needs several locks"),
        ("--share 20 --touch 1", "--share 20: not allowed with"),
        ("--stop-holder 0", "--stop-holder 0: allowed: more than 0"),
        ("--stop-holder 10ms --run 20ms", "too short for --stop-holder"),
        (
            "--questions --lock std --seconds 1",
            "--seconds 1: too short for --questions with 7 configurations; allowed: 5 or more",
        ),
        ("--questions --hold 1us", "cannot be used with"),
        ("--zipf 11 --locks 2", "must be a number from 0 to 10"),
    ] {
        let output = contend(&["throughput"].into_iter().chain(flags.split(' ')).collect::<Vec<_>>());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(message), "{flags}: {text}");
    }
}

#[test]
fn file_that_is_not_an_object_is_refused_with_the_reason() {
    let refused = |path: &Path| {
        let output = contend(&["latency", "--lock", path.to_str().unwrap(), "--seconds", "0.1"]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(output.stdout.is_empty() && stderr.contains("--lock /"), "{stderr}");
        stderr
    };
    let missing = refused(Path::new("/nonexistent/libmine.so"));
    assert!(missing.contains("does not exist"), "{missing}");
    let text = tempfile::Builder::new().suffix(".so").tempfile().unwrap();
    std::fs::write(text.path(), "a lock").unwrap();
    let message = refused(text.path());
    assert!(message.contains("not a shared object"), "{message}");
}

#[test]
fn flags_of_swap_that_make_no_sense_are_usage_errors() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--swap", "robust"], &["--swap", "robust", "adaptive", "mcs"]),
        (&["--swap", "mcs", "--metric", "a("], &["--metric", "a("]),
        (&["--swap", "mcs", "--metric", "a=1", "--metric", "a=2"], &["--metric a", "two metrics"]),
        (&["--swap", "mcs", "--metric", "a=1", "--higher-is-better=b"], &["--higher-is-better=b", "no --metric"]),
        (&["--swap", "mcs", "--fail-if", "faster:5%"], &["--fail-if", "slower:5%"]),
        (&["--swap", "mcs", "--runs", "5"], &["--runs", "from 6 to 10000"]),
        // Six runs cannot show any of 42 comparisons. No command ran before that, or it would have failed.
        (
            &["--swap", "all", "--metric", "a", "--runs", "6", "--prepare", "exit 9"],
            &["--runs 6", "too few for 42 comparisons", "allowed: 7 to 10000"],
        ),
        (&["--swap", "mcs", "--full"], &["--full", "--swap"]),
        (&["--runs", "6"], &["--swap"]),
    ];
    for (flags, words) in cases {
        let output = without_terminal(&[&["trace"], *flags, &["--", "/bin/true"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?} {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{word} in {stderr}"));
    }
}

#[test]
fn the_help_of_runs_says_the_fewest() {
    let output = without_terminal(&["trace", "--help"]);
    let help = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(help.contains("Measured runs of each variant; with 24 comparisons"), "{help}");
}

#[test]
fn number_of_threads_needs_its_place_in_the_arguments() {
    let output = without_terminal(&["preempted", "--threads", "3", "--", "true", "{thread}"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("--threads 3: no argument of the program contains {threads}"), "{message}");
}

#[test]
fn top_without_a_terminal_names_the_alternative() {
    let output = without_terminal(&["top", "--", "true"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("`contend top` needs a terminal") && text.contains("contend trace --interval 1s"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn program_that_top_does_not_find_is_reported_without_a_view() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(["top", "./no-such-program"]).env("CONTEND_ARCHIVE", "");
    let terminal = Terminal::start(command, 80, 24);
    let (status, text) = terminal.end();
    assert_eq!(status.code(), Some(2), "{text}");
    assert!(text.contains("no-such-program"), "{text}");
}

#[test]
fn list_of_locks_names_every_lock_with_a_line() {
    let output = contend(&["latency", "--lock", "list"]);
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for name in ["sysv", "posix", "benaphore", "benaphore-posix", "pthread", "pthread-adaptive", "std", "parking_lot"] {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name} is missing in\n{list}");
    }
}

#[test]
fn built_in_contestant_also_runs_as_a_program() {
    let output = contend(&["ring", "--alone", "rust-async-fifo", "503", "1000"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", 1000 % 503 + 1));
}
