//! `contend trace --swap`: a program of ours with other locks in its mutexes; what it prints, how it can end, what its
//! user can get wrong.

mod command;
#[path = "trace/programs.rs"]
#[allow(dead_code, reason = "the rows of watched locks are for another test")]
mod programs;

use programs::{Programs, Traced, command as trace, traced};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

fn row<'a>(traced: &'a Traced, lock: &str, metric: &str) -> &'a Value {
    let rows = traced.record["results"].as_array().unwrap();
    let found = rows.iter().find(|row| row["lock"] == lock && row["metric"] == metric);
    found.unwrap_or_else(|| panic!("no {metric} of {lock} in {rows:#?}"))
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The program says which lock it was given, and twice as much of something with one of them: so the answer is known.
#[test]
fn a_metric_that_one_lock_doubles_is_better_with_that_one_and_no_different_with_the_others() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let flags = ["--swap", "calock,ticket", "--metric", r"rate=rate (\d+)", "--higher-is-better", "--runs", "6"];
    let flags = [&flags[..], &["--warmup", "0", "--quiet"]].concat();
    let traced = traced(&programs, &flags, &program, &[]);
    assert_eq!(traced.output.status.code(), Some(0), "{}", stderr(&traced.output));
    let calock = row(&traced, "calock", "rate");
    assert_eq!((calock["ratio"].as_f64(), calock["verdict"].as_str()), (Some(2.0), Some("better")));
    assert_eq!(calock["ratio_ci"][0], 2.0);
    for lock in ["pass", "ticket"] {
        assert_eq!(row(&traced, lock, "rate")["verdict"], "no_difference_shown", "{lock}");
    }
    assert_eq!(row(&traced, "plain", "rate")["verdict"], "baseline");
    for metric in ["rate", "wall time", "CPU time"] {
        for lock in ["plain", "pass", "calock", "ticket"] {
            let row = row(&traced, lock, metric);
            assert_eq!((row["runs"].as_u64(), row["values"].as_array().unwrap().len()), (Some(6), 6), "{row}");
        }
    }
    // What each run was, in which order, and what could not be exchanged.
    let order = traced.record["parameters"]["order"].as_array().unwrap();
    assert_eq!(order.len(), 6);
    assert!(order.iter().all(|round| round.as_array().unwrap().len() == 4), "{order:?}");
    let left = &traced.record["parameters"]["left"][1];
    assert_eq!(
        (left["lock"].as_str(), left["processes"].as_u64(), left["robust"].as_u64()),
        (Some("calock"), Some(6), Some(6))
    );
}

#[test]
fn what_is_worse_by_more_than_a_limit_is_said_and_ends_with_3() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let flags = ["--swap", "calock", "--metric", r"rate=rate (\d+)", "--runs", "6", "--warmup", "0"];
    let output = trace(&[&flags[..], &["--fail-if", "slower:5%"]].concat(), &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("--fail-if slower:5%: calock, rate 2.00× the plain one's"), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("worse") && text.contains("calock"), "{text}");
    assert!(text.contains("6 robust mutexes"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("answers")), "{text}");
}

#[test]
fn commands_before_and_after_each_run_are_run_as_often_as_the_program() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let (before, after) = (programs.path("before"), programs.path("after"));
    let echo = |path: &Path| format!("echo x >> {}", path.display());
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "2", "--quiet"];
    let (prepare, cleanup) = (echo(&before), echo(&after));
    let output = trace(&[&flags[..], &["--prepare", &prepare, "--cleanup", &cleanup]].concat(), &program, &[]);
    let output = { output }.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // Two watched runs, a trial, then plain, pass and one lock.
    for path in [before, after] {
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 2 + 1 + 3 * (6 + 2));
    }
}

/// One message each, with what is wrong and what to do.
#[test]
fn what_is_wrong_with_a_metric_or_a_program_is_said() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["--metric", "nonesuch"], &[], &["with the program as it is --metric nonesuch matches nothing"]),
        (&["--metric", "r"], &[], &["matches 2 times in one run"]),
        (&["--metric", "(rate) "], &[], &["finds \"rate\"", "no number"]),
        (&["--prepare", "false"], &[], &["--prepare false", "exit status: 1"]),
        (&[], &["fail"], &["the program as it is ended with status 7", "it printed last: \"rate 100\""]),
        (&[], &["crash"], &["the program as it is was ended by signal 6"]),
    ];
    for (flags, arguments, words) in cases {
        let flags = [&["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet"][..], flags].concat();
        let output = trace(&flags, &program, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?} {}", stderr(&output));
        words.iter().for_each(|word| assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output)));
    }
}

#[test]
fn flags_that_make_no_sense_are_usage_errors() {
    let programs = Programs::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--swap", "robust"], &["--swap", "robust", "adaptive", "mcs"]),
        (&["--swap", "mcs", "--metric", "a("], &["--metric", "a("]),
        (&["--swap", "mcs", "--metric", "a=1", "--metric", "a=2"], &["--metric a", "two metrics"]),
        (&["--swap", "mcs", "--metric", "a=1", "--higher-is-better=b"], &["--higher-is-better=b", "no --metric"]),
        (&["--swap", "mcs", "--fail-if", "faster:5%"], &["--fail-if", "slower:5%"]),
        (&["--swap", "mcs", "--runs", "5"], &["--runs", "from 6 to 10000"]),
        (&["--swap", "mcs", "--full"], &["--full", "--swap"]),
        (&["--runs", "6"], &["--swap"]),
    ];
    for (flags, words) in cases {
        let output = trace(flags, Path::new("/bin/true"), &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?} {}", stderr(&output));
        words.iter().for_each(|word| assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output)));
    }
    drop(programs);
}

#[test]
fn a_program_that_fails_only_with_a_lock_is_said_to_and_the_others_are_compared() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let traced = traced(&programs, &["--swap", "calock,mcs", "--runs", "6", "--warmup", "0"], &program, &["mcs"]);
    assert_eq!(traced.output.status.code(), Some(1));
    let said = stderr(&traced.output);
    assert!(said.contains("with mcs the program ended with status 7"), "{said}");
    assert_eq!(row(&traced, "mcs", "wall time")["verdict"], "failed");
    assert_eq!(row(&traced, "calock", "wall time")["runs"], 6);
    let codes: Vec<&str> =
        traced.record["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"failed_with_lock") && codes.contains(&"spinning_lock"), "{codes:?}");
}

/// The library as a product: written where its user says, and loaded without contend.
#[test]
fn the_library_is_written_and_works_alone() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let library = programs.path("libulocks_pthread.so");
    let output =
        Command::new(env!("CARGO_BIN_EXE_contend")).args(["trace", "--swap-library"]).arg(&library).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let output = Command::new(program).env("LD_PRELOAD", &library).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}

/// The program sees in a mutex's bytes whether it was exchanged.
#[test]
fn only_the_mutexes_that_are_named_are_exchanged() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("ten", &[]) else { return };
    let cases = [
        (&["first_hot"][..], 1.5, 1.0),
        (&["first_hot,cold+0x28"], 1.5, 2.0),
        (&["cold"], 1.0, 9.0),
        (&["rank:1-2"], 2.0, 1.0),
        (&[], 2.0, 9.0),
    ];
    for (only, rate, others) in cases {
        let flags = ["--swap", "adaptive", "--metric", r"rate=rate (\d+)", "--metric", r"others=others (\d+)"];
        let only: Vec<&str> = only.iter().flat_map(|only| ["--swap-only", only]).collect();
        let flags = [&flags[..], &only, &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
        let traced = traced(&programs, &flags, &program, &[]);
        assert!(traced.output.status.success(), "{}", stderr(&traced.output));
        assert_eq!(row(&traced, "adaptive", "rate")["ratio"].as_f64(), Some(rate), "{only:?}");
        assert_eq!(row(&traced, "adaptive", "others")["ratio"].as_f64(), Some(others), "{only:?}");
        assert_eq!(row(&traced, "pass", "rate")["ratio"].as_f64(), Some(1.0), "{only:?}");
    }
}

/// Those that lie in no variable are known by the function that makes them, or is the first to take them.
#[test]
fn mutexes_on_the_heap_are_exchanged_by_a_function() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("heap", &[]) else { return };
    let cases = [("makes()", 2.0), ("takes()", 3.0), ("makes(),waits()", 6.0), ("rank:1", 5.0), ("main()", 1.0)];
    for (only, exchanged) in cases {
        let flags = ["--swap", "adaptive", "--metric", r"exchanged=exchanged (\d+)", "--swap-only", only];
        let flags = [&flags[..], &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
        let traced = traced(&programs, &flags, &program, &[]);
        assert!(traced.output.status.success(), "{}", stderr(&traced.output));
        assert_eq!(row(&traced, "adaptive", "exchanged")["ratio"].as_f64(), Some(exchanged), "{only}");
        let is_said =
            traced.record["warnings"].as_array().unwrap().iter().any(|one| one["code"] == "nothing_exchanged");
        assert_eq!(is_said, only == "main()", "{only}");
    }
    // Without symbols it is the place of the call.
    let Some(bare) = programs.compiled("heap", &["-s"]) else { return };
    let flags = ["--swap", "adaptive", "--metric", r"exchanged=exchanged (\d+)", "--swap-only", "rank:1"];
    let flags = [&flags[..], &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
    let traced = traced(&programs, &flags, &bare, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    assert_eq!(row(&traced, "adaptive", "exchanged")["ratio"].as_f64(), Some(5.0));
    let output = trace(&["--swap", "adaptive", "--swap-only", "nonesuch()"], &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("has no function of this name"), "{}", stderr(&output));
}

/// Of ten mutexes two matter.
#[test]
fn a_search_finds_the_mutexes_that_matter_and_the_flags_that_exchange_them() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("ten", &[]) else { return };
    let flags = ["--swap", "adaptive", "--search", "--metric", r"rate=rate (\d+)", "--higher-is-better"];
    let flags = [&flags[..], &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
    let traced = traced(&programs, &flags, &program, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let parameters = &traced.record["parameters"];
    let found = parameters["search_flags"].as_str().unwrap();
    assert!(found.starts_with("--swap adaptive --swap-only "), "{found}");
    let mut names: Vec<&str> = found.rsplit(' ').next().unwrap().split(',').collect();
    names.sort_unstable();
    assert_eq!(names, ["first_hot", "second_hot"]);
    assert_eq!(row(&traced, "adaptive", "rate")["ratio"].as_f64(), Some(2.0));
    let first = parameters["search"].as_array().unwrap().iter().filter(|arm| arm["stage"] == 1).count();
    assert_eq!(first, 10);
}

/// Whether anybody connected is counted for all programs together: so one test at a time.
static CONNECTIONS: Mutex<()> = Mutex::new(());

/// The client asks the server on the port that it is told, and prints the answer, which calock doubles.
#[test]
fn a_server_is_measured_by_its_client_and_ends_with_it() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let client = format!("{} ask", program.display());
    let flags = ["--swap", "calock", "--metric", r"rate=rate (\d+)", "--higher-is-better", "--runs", "6"];
    let flags = [&flags[..], &["--warmup", "0", "--quiet", "--client", &client]].concat();
    // It may end well when it is asked to, or by the signal.
    for arguments in [&[][..], &["dies"]] {
        let traced = traced(&programs, &flags, &program, arguments);
        assert_eq!(traced.output.status.code(), Some(0), "{}", stderr(&traced.output));
        assert_eq!(row(&traced, "calock", "rate")["ratio"].as_f64(), Some(2.0));
        assert_eq!(row(&traced, "pass", "wall time")["runs"], 6);
        assert_eq!(traced.record["parameters"]["client"], client);
    }
    let left = Command::new("pgrep").arg("-f").arg(&program).output();
    assert!(left.is_ok_and(|left| left.stdout.is_empty()), "a server was left behind");
}

/// A server that takes long to end is as little killed where it is watched as where it is not.
#[test]
fn a_server_has_the_same_patience_whether_it_is_watched_or_not() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let ended = programs.path("ended");
    let client = format!("{} ask", program.display());
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet", "--client", &client];
    let output = trace(&flags, &program, &["lingers", ended.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // Two watched runs, a trial, then plain, pass and one lock: each came to its end.
    assert_eq!(std::fs::read_to_string(ended).unwrap().lines().count(), 2 + 1 + 3 * 6);
    // One that does not end is ended when that is over.
    let output = trace(&[&["--patience", "100ms"][..], &flags].concat(), &program, &["stays"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("did not end within 0.1 s of SIGTERM"), "{}", stderr(&output));
}

/// Before it listens, or after: what it leaves in a session of its own is ended.
#[test]
fn a_server_that_goes_into_the_background_is_said_to_and_ended() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let client = format!("sleep 0.2; {} ask", program.display());
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet", "--client", &client];
    for wish in ["hides", "leaves"] {
        let output = trace(&flags, &program, &[wish]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{wish} {}", stderr(&output));
        let words = "what it left running in the background was ended: keep it in the foreground";
        assert!(stderr(&output).contains(words), "{wish} {}", stderr(&output));
        let left = Command::new("pgrep").arg("-f").arg(&program).output();
        assert!(left.is_ok_and(|left| left.stdout.is_empty()), "{wish}: a server was left behind");
    }
}

/// A worker beside the program, in the foreground: it is ended with it, and nothing else is said of it.
#[test]
fn what_is_ended_with_a_server_was_not_left_in_the_background() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let ask = format!("{} ask; exit 5", program.display());
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet", "--client", &ask];
    let worker = format!("{} & wait", program.display());
    let output = trace(&flags, Path::new("/bin/sh"), &["-c", &worker]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("served a client that ended with status 5") && !said.contains("background"), "{said}");
    let left = Command::new("pgrep").arg("-f").arg(&program).output();
    assert!(left.is_ok_and(|left| left.stdout.is_empty()), "a worker was left behind");
}

/// One message each; each ends soon.
#[test]
fn what_is_wrong_with_a_server_or_its_client_is_said() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let ask = format!("{} ask", program.display());
    let cases: &[(&str, &[&str], &str)] = &[
        (&ask, &["early"], "ended with status 7 before it listened"),
        (&ask, &["crash"], "was ended by signal 6 while the client ran"),
        ("true", &[], "had no connection from the client, which has ended"),
        ("exit 5", &[], "served a client that ended with status 5"),
    ];
    for (client, arguments, words) in cases {
        let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet", "--client", client];
        let output = trace(&flags, &program, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{client} {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{words} in {}", stderr(&output));
    }
    let output = trace(&["--swap", "mcs", "--port", "80"], &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// The library that watches stands before the one that exchanges: both must find the same condition variables behind
/// them as the program's mutexes have.
#[test]
fn a_program_with_condition_variables_is_watched_with_each_lock() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("turns", &[]) else { return };
    let flags = ["--swap", "adaptive,usema", "--runs", "6", "--warmup", "0", "--quiet"];
    let traced = traced(&programs, &flags, &program, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let parameters = &traced.record["parameters"];
    let watched = parameters["watched"].as_array().unwrap();
    for lock in ["plain", "adaptive", "usema"] {
        assert!(watched.iter().any(|one| one["lock"] == lock && one["name"] == "lock"), "{lock} in {parameters:#}");
    }
}

/// A program with more locks than there is room for.
#[test]
fn what_finds_no_room_when_it_is_watched_is_said() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("many", &[]) else { return };
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet"];
    let warnings = traced(&programs, &flags, &program, &["100000"]).record["warnings"].clone();
    assert!(warnings.to_string().contains("trace_lost"), "{warnings}");
}

/// What the locks did, before and after.
#[test]
fn waits_and_holds_of_the_same_locks_are_known_plainly_and_with_each_lock() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let flags = ["--swap", "adaptive,ticket", "--runs", "6", "--warmup", "0", "--quiet"];
    let traced = traced(&programs, &flags, &program, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let watched = traced.record["parameters"]["watched"].as_array().unwrap();
    let of = |lock: &str| {
        let found = watched.iter().find(|one| one["lock"] == lock && one["name"] == "lock");
        found.unwrap_or_else(|| panic!("{lock} in {watched:#?}"))
    };
    for lock in ["plain", "adaptive", "ticket"] {
        assert_eq!(of(lock)["acquisitions"], 8000, "{lock}");
        assert!(of(lock)["hold_p50_ns"].as_f64().is_some_and(|hold| hold > 0.0), "{lock}");
    }
}
