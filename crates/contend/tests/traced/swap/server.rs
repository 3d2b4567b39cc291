//! A program that is a server, measured by its client.

use super::{row, stderr};
use crate::programs::{Programs, command as trace, traced};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// The kernel counts connections of all programs together: so one test at a time.
static CONNECTIONS: Mutex<()> = Mutex::new(());

fn nothing_is_left_of(program: &Path) -> bool {
    let left = Command::new("pgrep").arg("-f").arg(program).output();
    left.is_ok_and(|left| left.stdout.is_empty())
}

/// The client sends a request to the server's port, and prints the answer, which calock doubles.
#[test]
fn a_server_is_measured_by_its_client_and_ends_with_it() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let client = format!("{} ask", program.display());
    let flags = ["--swap", "calock", "--metric", r"rate=rate (\d+)", "--higher-is-better", "--runs", "6"];
    let flags = [&flags[..], &["--warmup", "0", "--quiet", "--client", &client]].concat();
    // It may exit with success on SIGTERM, or die of it.
    for arguments in [&[][..], &["dies"]] {
        let traced = traced(&programs, &flags, &program, arguments);
        assert_eq!(traced.output.status.code(), Some(0), "{}", stderr(&traced.output));
        assert_eq!(row(&traced, "calock", "rate")["ratio"].as_f64(), Some(2.0));
        assert_eq!(row(&traced, "pass", "wall time")["runs"], 6);
        assert_eq!(traced.record["parameters"]["client"], client);
    }
    assert!(nothing_is_left_of(&program), "a server was left behind");
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

/// Before it listens, or after: the processes that it leaves in another session are ended.
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
        let words = "its background processes were killed: keep the program in the foreground";
        assert!(stderr(&output).contains(words), "{wish} {}", stderr(&output));
        assert!(nothing_is_left_of(&program), "{wish}: a server was left behind");
    }
}

/// A worker of the program, in the foreground: it is ended with the program, without a message.
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
    assert!(nothing_is_left_of(&program), "a worker was left behind");
}

/// Checks that each error has one message, and that each run ends soon.
#[test]
fn what_is_wrong_with_a_server_or_its_client_is_said() {
    let _alone = CONNECTIONS.lock();
    let programs = Programs::new();
    let Some(program) = programs.compiled("serves", &[]) else { return };
    let ask = format!("{} ask", program.display());
    let cases: &[(&str, &[&str], &str)] = &[
        (&ask, &["early"], "ended with status 7 before it listened"),
        // While the client runs, or just after it.
        (&ask, &["crash"], "was killed by signal 6 while the client ran|was killed by signal 6 after SIGTERM"),
        ("true", &[], "received no connection from the client, which has ended"),
        ("exit 5", &[], "served a client that ended with status 5"),
    ];
    for (client, arguments, words) in cases {
        let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet", "--client", client];
        let output = trace(&flags, &program, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{client} {}", stderr(&output));
        let is_said = words.split('|').any(|words| stderr(&output).contains(words));
        assert!(is_said, "{words} in {}", stderr(&output));
    }
    let output = trace(&["--swap", "mcs", "--port", "80"], &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
