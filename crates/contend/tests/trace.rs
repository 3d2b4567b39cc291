//! `contend trace`: programs of ours with known waits, holds, deadlocks and orders; programs that cannot be watched;
//! ends of all kinds.

mod command;
#[path = "trace/programs.rs"]
mod programs;

use programs::{Programs, command as trace, traced};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is off by more than a tenth, if it is.
fn off(what: &str, seen: f64, known: f64) -> Option<String> {
    ((seen - known).abs() > 0.1 * known).then(|| format!("{what}: {seen} seen, {known} known"))
}

/// What the program noted of its own locks, which it prints, is what was seen: exact counts, times within a tenth.
#[test]
fn counts_are_exact_and_waits_holds_and_the_stopped_share_are_what_the_program_noted() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    for flags in [&["--full"][..], &[]] {
        // Others may take the CPU between the program's reading of the clock and ours; not in each of several runs.
        let mut runs = (0..5).map(|_| times_off(&programs, flags, &program));
        assert!(runs.any(|off| off.is_empty()), "five times: {:?}", times_off(&programs, flags, &program));
    }
}

/// Runs the program, asserts what does not depend on the machine, and tells which times are off.
fn times_off(programs: &Programs, flags: &[&str], program: &Path) -> Vec<String> {
    let traced = traced(programs, flags, program, &["200"]);
    assert!(traced.output.status.success(), "{}", String::from_utf8_lossy(&traced.output.stderr));
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&traced.output.stdout).lines() {
        let [name, taken, held, waited, slept] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let number = |text: &str| text.parse::<f64>().unwrap();
        let lock = traced.lock(name);
        assert_eq!(lock["acquisitions"].as_f64().unwrap(), number(taken), "{name}");
        // One hold in 64 is a sample of six.
        if flags == ["--full"] {
            found.extend(off(name, lock["hold_total_s"].as_f64().unwrap() * 1e9, number(held)));
            assert_eq!(lock["holds_timed"], lock["acquisitions"]);
        }
        // The program's own clocks count as a wait of some 100 ns each.
        found.extend(off(name, lock["wait_total_s"].as_f64().unwrap() * 1e9 + 2e6, number(waited) + 2e6));
        assert!(lock["symbol"] == "user" && lock["source"].as_str().unwrap().contains("known.c:"), "{lock}");
        if name == "stopped_lock" && traced.record["parameters"]["switches"] == "perf" {
            found.extend(off("stopped", lock["holder_off_cpu_share"].as_f64().unwrap(), number(slept)));
        }
    }
    let blamed = &traced.lock("stopped_lock")["blocked_by"][0];
    assert!(blamed["site"].as_str().unwrap().starts_with("user (known.c:"), "{blamed}");
    assert!(blamed["share"].as_f64().unwrap() > 0.95, "{blamed}");
    found
}

/// Each switch that is recorded costs the program time: where there are very many, they are recorded now and then.
#[test]
fn a_storm_of_switches_is_recorded_in_windows_and_its_holders_are_known_all_the_same() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("storm", &[]) else { return };
    let traced = traced(&programs, &[], &program, &["1500"]);
    let parameters = &traced.record["parameters"];
    let Some(share) = parameters["switches_share"].as_f64() else { return println!("skipped: needs the switches") };
    let switches: f64 = String::from_utf8_lossy(&traced.output.stdout).trim().parse().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get() as f64;
    // Two records a switch: three times as many as are ever written without a pause.
    if switches * 2.0 / parameters["elapsed_s"].as_f64().unwrap() < 120_000.0 * cpus {
        return println!("skipped: needs a machine that switches faster");
    }
    assert!(share < 0.9, "open for {share} of the time");
    assert!(traced.lock("even")["holder_off_cpu_share"].is_number(), "{}", traced.lock("even"));
}

/// One thread holds `inner` for 20 ms at a time; another waits for it with `outer` in hand; a third waits for `outer`.
#[test]
fn who_waits_for_a_waiting_holder_is_kept_by_whom_that_one_waits_for() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("chain", &[]) else { return };
    let traced = traced(&programs, &["--full"], &program, &["30"]);
    let outer = traced.lock("outer");
    let direct = &outer["blocked_by"][0];
    assert!(direct["site"].as_str().unwrap().starts_with("middle ("), "{direct}");
    let cause = &outer["caused_by"][0];
    assert_eq!(cause["lock"], "inner", "{cause}");
    assert!(cause["site"].as_str().unwrap().starts_with("root ("), "{cause}");
    assert!(cause["share"].as_f64().unwrap() > 0.5, "{cause}");
    let share = |name: &str| traced.lock(name)["critical_share"].as_f64().unwrap_or(0.0);
    assert!(share("inner") > share("outer") && share("inner") > 0.3, "{} {}", share("inner"), share("outer"));
    let spikes = traced.lock("inner")["hold_spikes"].as_array().unwrap();
    let is_long = |spike: &&Value| spike["median_ns"].as_f64() > Some(15e6) && spike["count"].as_u64() > Some(15);
    assert!(spikes[0]["label"] == "A" && spikes.iter().any(|spike| is_long(&spike)), "{spikes:?}");
}

fn steps(row: &Value) -> Vec<String> {
    row["steps"].as_array().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn a_deadlock_is_named_with_both_sites_while_the_program_goes_on() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("deadlock", &[]) else { return };
    let traced = traced(&programs, &["--deadline", "300ms"], &program, &["1500"]);
    assert!(traced.output.status.success());
    assert_eq!(traced.record["parameters"]["exit_status"], 0);
    let stderr = String::from_utf8_lossy(&traced.output.stderr).into_owned();
    assert!(stderr.contains("deadlock: after"), "{stderr}");
    let [deadlock] = traced.rows("deadlock")[..] else { panic!("{:#}", traced.record["results"]) };
    let steps = steps(deadlock);
    assert_eq!(steps.len(), 2);
    for (takes, site) in [("right", "leftmost (deadlock.c:1"), ("left", "rightmost (deadlock.c:1")] {
        let one = steps.iter().find(|step| step.contains(&format!("\"takes\":\"{takes}\""))).expect("both are named");
        assert!(one.contains(&format!("\"taken_site\":\"{site}")), "{one}");
    }
    assert_eq!(traced.rows("inversion").len(), 1);
}

#[test]
fn ctrl_c_on_a_deadlock_names_it_and_ends_the_program() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("deadlock", &[]) else { return };
    let mut child = trace(&[], &program, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(1_500));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output_in(Duration::from_secs(20));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(130), "{stdout}");
    assert!(
        stdout.contains("Deadlock, after") && stdout.contains("leftmost") && stdout.contains("rightmost"),
        "{stdout}"
    );
    assert!(began.elapsed() < Duration::from_secs(15));
    assert!(!runs(&program), "the program lives");
}

trait Patience {
    fn wait_with_output_in(&mut self, most: Duration) -> std::process::Output;
}

impl Patience for std::process::Child {
    fn wait_with_output_in(&mut self, most: Duration) -> std::process::Output {
        use std::io::Read;
        let until = Instant::now() + most;
        let status = loop {
            match self.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => {
                    self.kill().unwrap();
                    panic!("it does not end");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.stdout.take().map(|mut pipe| pipe.read_to_end(&mut stdout));
        self.stderr.take().map(|mut pipe| pipe.read_to_end(&mut stderr));
        std::process::Output { status, stdout, stderr }
    }
}

/// Whether a process runs this file.
fn runs(program: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok()).any(|file| file == program)
}

#[test]
fn orders_that_contradict_each_other_are_named_and_one_order_is_not() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("orders", &[]) else { return };
    let one = traced(&programs, &[], &program, &[]);
    assert_eq!(one.rows("inversion").len(), 0, "{:#}", one.record["results"]);
    assert_eq!(one.rows("lock").len(), 10);
    let both = traced(&programs, &[], &program, &["against"]);
    let [inversion] = both.rows("inversion")[..] else { panic!("{:#}", both.record["results"]) };
    let steps = steps(inversion);
    assert!(steps.iter().any(|step| step.contains("nested (orders.c:8)")), "{steps:?}");
    assert!(steps.iter().any(|step| step.contains("against (orders.c:15)")), "{steps:?}");
    assert!(steps.iter().all(|step| step.contains("locks+0x")), "{steps:?}");
}

/// At random moments the program, contend, or both are killed: what was recorded is shown where contend lives, and
/// nothing is left.
#[test]
fn whoever_is_killed_leaves_nothing_and_what_was_recorded_is_shown() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let mut random = fastrand::Rng::with_seed(17);
    for round in 0..KILLS {
        let file = programs.path("killed.json");
        let _ = std::fs::remove_file(&file);
        let flags = ["--format", "json", "--quiet", "--output", file.to_str().unwrap()];
        let mut child = trace(&flags, &program, &["20000"]).stderr(Stdio::null()).spawn().unwrap();
        let watched = started(&program);
        std::thread::sleep(Duration::from_millis(random.u64(0..60)));
        let (kills_program, kills_contend) = [(true, false), (false, true), (true, true)][round % 3];
        if kills_program {
            let _ = kill_process(watched, Signal::KILL);
        }
        if kills_contend {
            child.kill().unwrap();
        }
        let output = child.wait_with_output_in(Duration::from_secs(20));
        if !kills_contend && output.status.success() {
            let record = command::read(&std::fs::read(&file).unwrap());
            assert_eq!(record["parameters"]["exit_signal"], 9);
            assert_eq!(record["results"][0]["lock"], "busy_lock");
            assert!(record["results"][0]["acquisitions"].as_u64() > Some(0));
        } else if !kills_contend {
            // It was killed before it took its first lock.
            assert_eq!(output.status.code(), Some(1));
        }
        let until = Instant::now() + Duration::from_secs(5);
        while runs(&program) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!runs(&program), "round {round}: the program lives");
        let left = std::fs::read_dir(file.parent().unwrap()).unwrap().flatten();
        let left: Vec<_> =
            left.map(|entry| entry.file_name()).filter(|name| name != "busy" && name != "killed.json").collect();
        // A killed writer cannot take its draft away; nothing but that is excused.
        assert!(kills_contend || left.is_empty(), "{left:?}");
        left.iter().for_each(|name| drop(std::fs::remove_file(file.with_file_name(name))));
    }
}

#[test]
fn what_the_program_started_ends_with_contend_should_that_be_killed() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let script = format!("{} 60000 & wait", program.display());
    let mut child = trace(&["--quiet"], Path::new("sh"), &["-c", &script]).stderr(Stdio::null()).spawn().unwrap();
    started(&program);
    // The library is in it once it is at work.
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while runs(&program) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!runs(&program), "it lives");
}

/// The hundred of them take a minute; the tests a part of it.
const KILLS: usize = 24;

/// The process that runs the program, once there is one.
fn started(program: &Path) -> Pid {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            if std::fs::read_link(entry.path().join("exe")).is_ok_and(|file| file == program)
                && let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            {
                return Pid::from_raw(pid).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the program does not start");
}

#[test]
fn what_cannot_be_watched_is_said_before_it_is_started() {
    let programs = Programs::new();
    let Some(fixed) = programs.compiled("busy", &["-static"]) else { return };
    let text = programs.path("text");
    std::fs::write(&text, "no program").unwrap();
    std::fs::set_permissions(&text, PermissionsExt::from_mode(0o755)).unwrap();
    let mut small = std::fs::read(&fixed).unwrap();
    small[4] = 1;
    let narrow = programs.path("narrow");
    std::fs::write(&narrow, small).unwrap();
    std::fs::set_permissions(&narrow, PermissionsExt::from_mode(0o755)).unwrap();
    let plain = programs.path("plain");
    std::fs::write(&plain, "text").unwrap();
    std::fs::set_permissions(&plain, PermissionsExt::from_mode(0o644)).unwrap();
    for (program, words) in [
        (fixed.as_path(), "statically linked"),
        (&text, "neither a program nor a script"),
        (&narrow, "32-bit"),
        (Path::new("/nowhere/at/all"), "No such file"),
        (Path::new("no-such-program-anywhere"), "no folder of PATH"),
        (&plain, "no program that may be run"),
        (Path::new("/tmp"), "no program that may be run"),
    ] {
        let output = trace(&[], program, &[]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {stderr}", program.display());
        assert!(stderr.contains(words) && stderr.contains(program.to_str().unwrap()), "{stderr}");
    }
    let none = command::contend(&["trace"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("contend trace --"));
}

#[test]
fn a_program_without_locks_fails_with_its_end_and_its_output_is_its_own() {
    let output = trace(&[], Path::new("sh"), &["-c", "echo out; echo err >&2; exit 5"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("err\n") && stderr.contains("none of the C library's locks; it ended with status 5"),
        "{stderr}"
    );
}

#[test]
fn a_script_is_watched_with_what_it_starts_and_its_end_is_its_own() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let script = programs.path("script");
    std::fs::write(&script, format!("#!/bin/sh\n{} 50\nexit 6\n", program.display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let traced = traced(&programs, &[], &script, &[]);
    assert_eq!(traced.record["parameters"]["exit_status"], 6);
    assert!(traced.lock("busy_lock")["acquisitions"].as_u64() > Some(1_000));
    assert!(traced.record["warnings"].to_string().contains("watched_script"));
}

#[test]
fn what_finds_no_room_is_counted() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("many", &[]) else { return };
    let traced = traced(&programs, &[], &program, &["1000000"]);
    let parameters = &traced.record["parameters"];
    let lost =
        parameters["lost"]["uses_of_locks"].as_u64().unwrap() + parameters["lost"]["uses_of_sites"].as_u64().unwrap();
    let seen: u64 = traced.rows("lock").iter().map(|row| row["acquisitions"].as_u64().unwrap()).sum();
    assert_eq!(lost + seen + parameters["locks_left_out"].as_u64().unwrap(), 1_000_000);
    assert!(traced.record["warnings"].to_string().contains("trace_lost"));
}

#[test]
fn thousands_of_threads_at_once_are_counted_one_by_one() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("threads", &[]) else { return };
    let traced = traced(&programs, &["--quiet"], &program, &["4000"]);
    if traced.record["parameters"]["exit_status"] == 4 {
        return println!("skipped: needs room for 4,000 threads");
    }
    assert_eq!(traced.lock("common")["acquisitions"], 4_000);
    assert!(traced.record["parameters"]["threads"].as_u64() >= Some(4_000));
}

#[test]
fn after_its_seconds_the_program_is_asked_to_end_and_lines_come_meanwhile() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let traced = traced(&programs, &["--seconds", "0.7", "--interval", "200ms"], &program, &[]);
    assert_eq!(traced.record["parameters"]["exit_signal"], 15);
    let stderr = String::from_utf8_lossy(&traced.output.stderr).into_owned();
    assert!(
        stderr.lines().filter(|line| line.contains("of a thread, ") && line.contains("busy_lock")).count() >= 2,
        "{stderr}"
    );
}

/// What the debugger knows may lie in a file of its own, as distributions ship it.
#[test]
fn names_go_through_inlining_in_cpp_also_with_separate_information() {
    let programs = Programs::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/shop.cpp");
    let program = programs.path("shop");
    let run = |tool: &str, arguments: &[&str]| {
        let status = Command::new(tool).args(arguments).current_dir(program.parent().unwrap()).status();
        status.inspect_err(|_| println!("skipped: needs {tool}")).is_ok_and(|status| status.success())
    };
    if !run("c++", &["-O2", "-g", "-pthread", "-o", "shop", source.to_str().unwrap()]) {
        return;
    }
    let check = || {
        let traced = traced(&programs, &[], &program, &[]);
        assert_eq!(traced.record["parameters"]["exit_status"], 0);
        assert_eq!(traced.lock("shop::till")["acquisitions"], 2_000);
        let sites = traced.rows("site");
        let site =
            |name: &str| sites.iter().find(|row| row["symbol"].as_str().is_some_and(|symbol| symbol.contains(name)));
        for (name, line) in [("shop::Cart::add", "shop.cpp:10"), ("pay", "shop.cpp:18")] {
            let found = site(name).unwrap_or_else(|| panic!("no {name} in {sites:#?}"));
            assert!(found["source"].as_str().unwrap().ends_with(line), "{found:#}");
        }
        assert!(traced.rows("lock").iter().any(|row| row["lock"] == "mutex of shop::Cart::add() (shop.cpp:10)"));
    };
    check();
    let is_split = run("objcopy", &["--only-keep-debug", "shop", "shop.debug"])
        && run("strip", &["shop"])
        && run("objcopy", &["--add-gnu-debuglink=shop.debug", "shop"]);
    if is_split {
        check();
    }
}

#[test]
fn its_record_is_kept_shown_reported_and_compared() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    if !command::archive::has_git() {
        return;
    }
    let archive = command::archive::Archive::new();
    let said = |arguments: &[&str]| {
        let output = archive.contend(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for _ in 0..2 {
        assert!(said(&["trace", "--quiet", "--", program.to_str().unwrap(), "20"]).contains("stopped_lock"));
    }
    assert!(said(&["history"]).contains("trace"));
    let shown = said(&["history", "show", "last"]);
    for words in ["held meanwhile, as taken at", "Who kept whom waiting, in the end", "stopped_lock @ user (known.c:"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(said(&["compare", "last~1", "last"]).contains("stopped_lock"));
    let page = said(&["report", "last"]);
    for words in [
        "Time waited, by lock",
        "What all waiting is made of",
        "The longest waits",
        "waits and holds",
        "id=\"method-trace\"",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn waits_go_to_other_programs_forms() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    let (folded, perfetto) = (programs.path("folded"), programs.path("perfetto"));
    let flags = ["--export", "folded", folded.to_str().unwrap(), "--export", "perfetto", perfetto.to_str().unwrap()];
    traced(&programs, &flags, &program, &["50"]);
    let text = std::fs::read_to_string(folded).unwrap();
    let stack = text.lines().find(|line| line.starts_with("stopped_lock;user (known.c:")).expect("its stack");
    assert!(stack.contains(";held by user (known.c:"), "{stack}");
    assert!(stack.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 0);
    let bytes = std::fs::read(perfetto).unwrap();
    assert_eq!(packets(&bytes), Some(true), "every packet is whole");
    let names = String::from_utf8_lossy(&bytes).into_owned();
    assert!(names.contains("stopped_lock") && names.contains("releases stopped_lock"));
    let output = trace(&["--export", "cooking", "file"], &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("perfetto and folded"));
}

/// Whether a file is a row of whole packets: field 1, with its length.
fn packets(mut bytes: &[u8]) -> Option<bool> {
    let mut count = 0;
    while let Some((tag, rest)) = bytes.split_first() {
        let (mut length, mut shift, mut rest) = (0_usize, 0, rest);
        loop {
            let (byte, after) = rest.split_first()?;
            length |= usize::from(byte & 0x7f) << shift;
            (shift, rest) = (shift + 7, after);
            if byte & 0x80 == 0 {
                break;
            }
        }
        (*tag == 0x0a).then_some(())?;
        bytes = rest.get(length..)?;
        count += 1;
    }
    Some(count > 10)
}

/// A program that waits for a line, and then becomes one with known waits: so the watching begins before it does.
#[test]
fn the_waits_of_a_process_that_runs_are_those_that_it_noted_itself() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    // As above: not in each of several runs.
    let mut runs = (0..5).map_while(|_| attached_times_off(&programs, &program));
    let Some(first) = runs.next() else { return println!("skipped: needs root and a tracefs") };
    assert!(first.is_empty() || runs.any(|off| off.is_empty()), "five times, at first: {first:?}");
}

/// Which times are off; `None` where no process can be watched.
fn attached_times_off(programs: &Programs, program: &Path) -> Option<Vec<String>> {
    let script = format!("read line; exec {} 200", program.display());
    let mut watched = Command::new("sh");
    watched.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut watched = watched.spawn().unwrap();
    let file = programs.path("attached.json");
    let flags = ["--interval", "100ms", "--format", "json", "--output", file.to_str().unwrap()];
    let mut contend = attach(&watched.id().to_string(), &flags).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(contend.stderr.take().unwrap()).lines();
    let first = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("waited") || line.contains("error")));
    let first = first.map(Result::unwrap).unwrap_or_default();
    watched.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = watched.wait_with_output().unwrap();
    let rest = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<String>>());
    let status = contend.wait_with_output_in(Duration::from_secs(30)).status;
    let rest = rest.join().unwrap();
    if first.contains("needs root") {
        return None;
    }
    let mut times_off = Vec::new();
    assert!(status.success(), "{first}\n{rest:?}");
    let record = command::read(&std::fs::read(&file).unwrap());
    let rows = record["results"].as_array().unwrap();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let [name, _, _, waited, slept] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let waited: f64 = waited.parse().unwrap();
        let found = rows.iter().find(|row| row["kind"] == "lock" && row["lock"] == name);
        // Threads that happen to take turns wait for little.
        if waited < 20e6 {
            continue;
        }
        let lock = found.unwrap_or_else(|| panic!("no {name} in {:#}", record["results"]));
        times_off.extend(off(name, lock["wait_total_s"].as_f64().unwrap() * 1e9, waited));
        assert_eq!(lock["type"], "mutex", "{lock}");
        assert!(lock["blocked_by"][0]["site"].as_str().unwrap().starts_with("user (known.c:"), "{lock}");
        if name == "stopped_lock" {
            // Who waits does so until the holder has slept, which it does last: for half of the wait at least. What the
            // program noted has more in it: holds that began while the woken thread was not running yet.
            let share = lock["holder_off_cpu_share"].as_f64().unwrap();
            times_off.extend((share <= 0.4).then(|| format!("{share} seen, {slept} noted")));
            assert!(lock["wake_p50_ns"].as_f64().unwrap() > 0.0);
        }
    }
    Some(times_off)
}

fn attach(pid: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").args(["trace", "--pid", pid]).args(flags).stdin(Stdio::null());
    command
}

#[test]
fn a_process_that_cannot_be_watched_is_named_with_the_reason() {
    let mut ended = Command::new("true").spawn().unwrap();
    let zombie = ended.id().to_string();
    // It has ended once its state says so.
    let until = Instant::now() + Duration::from_secs(10);
    let state = || std::fs::read_to_string(format!("/proc/{zombie}/stat")).unwrap_or_default();
    while !state().contains(") Z ") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    for (pid, words) in [
        ("4194303", "there is no such process"),
        ("0", "0 is not in 1.."),
        ("x", "invalid digit"),
        (&zombie, "it has ended"),
    ] {
        let output = attach(pid, &[]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{pid}: {stderr}");
        assert!(stderr.contains(words), "{pid}: {stderr}");
    }
    ended.wait().unwrap();
    let both = attach("1", &["--", "true"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}
