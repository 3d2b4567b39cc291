//! Runs end near their time, and soon after a signal, whatever the flags ask for.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Flags that ask for more than a second allows, by command. Each command that measures for a time has a line.
const RUNS: &[(&str, &[&str])] = &[
    ("clock", &["--longest 300ms"]),
    (
        "latency",
        &[
            "--lock benaphore --threads 200",
            "--lock std,mcs,ticket --threads 500",
            "--lock std --threads 1000",
            "--lock std --competitors 500",
            "--lock std --threads 8 --hold 10ms",
            "--evidence none --threads 1,2,4,8,16,32,64",
        ],
    ),
    (
        "throughput",
        &[
            "--lock std --children 1000",
            "--lock sysv --children 200 --processes",
            "--children 1,2,4,8,16,32,64 --run 500ms",
            "--lock std --children 64 --ramp",
        ],
    ),
    ("noise", &["", "--remedies", "--competitors 64", "--samples 100000000", "--wake 1ms,10ms"]),
    ("load", &["", "--grinders 4"]),
    ("ring", &["", "--threads 10000", "--large 10000000"]),
    ("core", &[""]),
    ("trace", &["-- sleep 60", "--confirm -- sleep 60"]),
    ("preempted", &["-- sleep 60"]),
    ("lines", &["-- sleep 60"]),
];
/// Commands whose programs are the user's: a repetition is as long as these run.
const LONG_AS_ITS_PROGRAMS: [&str; 2] = ["ab", "lockstep"];
/// A run ends two seconds after its time at the latest; on a machine that other programs use, it may take longer.
const LATEST: Duration = Duration::from_secs(12);

fn start(command: &str, flags: &str, seconds: &str) -> Child {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let (own, program) = flags.split_once("-- ").unwrap_or((flags, ""));
    let mut arguments = [words(command), words(own)].concat();
    arguments.extend(["--seconds", seconds, "--quiet", "--format", "json"].map(str::to_owned));
    if !program.is_empty() {
        arguments.extend([vec!["--".to_owned()], words(program)].concat());
    }
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    contend.spawn().expect("the binary starts")
}

/// Returns how long it takes to end, and its exit status; it is killed if that is too long.
fn end(child: &mut Child) -> (Duration, Option<i32>) {
    let began = Instant::now();
    while began.elapsed() < LATEST {
        if let Some(status) = child.try_wait().unwrap() {
            return (began.elapsed(), status.code());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (began.elapsed(), None)
}

fn runs() -> impl Iterator<Item = (&'static str, &'static str)> {
    RUNS.iter().flat_map(|(command, flags)| flags.iter().map(move |flags| (*command, *flags)))
}

#[test]
fn every_run_ends_near_its_time() {
    let late: Vec<String> = runs()
        .filter_map(|(command, flags)| {
            let (took, status) = end(&mut start(command, flags, "1"));
            assert_ne!(status, Some(2), "{command} {flags} is a measurement");
            status.is_none().then(|| format!("{command} {flags}: {took:?}"))
        })
        .collect();
    assert!(late.is_empty(), "{late:#?}");
}

#[test]
fn every_run_ends_soon_after_a_signal() {
    let late: Vec<String> = runs()
        .filter_map(|(command, flags)| {
            let mut child = start(command, flags, "100");
            std::thread::sleep(Duration::from_secs(1));
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let (took, status) = end(&mut child);
            status.is_none().then(|| format!("{command} {flags}: {took:?}"))
        })
        .collect();
    assert!(late.is_empty(), "{late:#?}");
}

#[test]
fn every_measuring_command_is_in_the_table() {
    let missing: Vec<&str> = experiments::ALL
        .iter()
        .filter(|entry| entry.takes("seconds"))
        .map(|entry| entry.name)
        .filter(|name| !RUNS.iter().any(|(command, _)| command == name) && !LONG_AS_ITS_PROGRAMS.contains(name))
        .filter(|name| *name != "template")
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
