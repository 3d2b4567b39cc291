//! `contend trace`: test programs with known waits, holds, deadlocks and orders; and uses of its record.

use crate::programs::{Programs, command as trace, traced};
use crate::times::off;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tests that take both CPUs, and tests that time a program, run one at a time.
static CPUS: Mutex<()> = Mutex::new(());

fn has_the_cpus() -> MutexGuard<'static, ()> {
    CPUS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program prints its own notes on its locks, and the record agrees: exact counts, times within a tenth.
#[test]
fn counts_waits_and_holds_equal_the_programs_account() {
    let _turn = has_the_cpus();
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    for flags in [&["--full"][..], &[]] {
        // Others may take the CPU between the program's reading of the clock and ours; not in each of several runs.
        let mut runs = (0..5).map(|_| times_off(&programs, flags, &program));
        assert!(runs.any(|off| off.is_empty()), "five times: {:?}", times_off(&programs, flags, &program));
    }
}

/// One in 64 of holds that are short is timed. One that is long among the others would be most of their sum, so that
/// there is none; with `--full` there is.
#[test]
fn short_holds_that_are_sampled_have_no_sum() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let sampled = traced(&programs, &[], &program, &[]);
    let lock = sampled.lock("lock");
    let (timed, acquisitions) = (lock["holds_timed"].as_u64().unwrap(), lock["acquisitions"].as_u64().unwrap());
    assert!(timed > 0 && lock["hold_p50_ns"].as_f64() > Some(0.0), "{lock}");
    // A busy machine can make a hold long, and then the next ones are timed.
    if timed < acquisitions / 8 {
        assert!(lock["hold_total_s"].is_null() && lock["hold_total_ci_s"].is_null(), "{lock}");
    }
    let full = traced(&programs, &["--full"], &program, &[]);
    assert_eq!(full.lock("lock")["holds_timed"], full.lock("lock")["acquisitions"]);
    assert!(full.lock("lock")["hold_total_s"].as_f64() > Some(0.0));
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
        // Holds of 100 us and more are timed without `--full`, too.
        found.extend(off(name, lock["hold_total_s"].as_f64().unwrap() * 1e9, number(held)));
        assert_eq!(lock["holds_timed"], lock["acquisitions"]);
        assert_eq!(lock["hold_total_ci_s"][0], lock["hold_total_ci_s"][1]);
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

/// Recording switches makes them more expensive, so where there are very many of them not all are recorded: threads
/// that do little but yield are excluded, or all are recorded in windows. One lock's holder is stopped for half of the
/// time.
#[test]
fn stopped_share_is_right_in_a_storm_of_switches() {
    let _turn = has_the_cpus();
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    // Between two yields: nothing, and 25 us.
    for pause_us in ["0", "25"] {
        stopped_in_a_storm(&programs, &program, pause_us);
    }
}

fn stopped_in_a_storm(programs: &Programs, program: &Path, pause_us: &str) {
    let others = (2 * std::thread::available_parallelism().unwrap().get()).min(64).to_string();
    let mut seen = Vec::new();
    for _ in 0..5 {
        let traced = traced(programs, &[], program, &["400", &others, pause_us]);
        let parameters = &traced.record["parameters"];
        if parameters["switches"].is_null() {
            return println!("skipped: needs the switches");
        }
        let said = String::from_utf8_lossy(&traced.output.stdout).into_owned();
        let [name, taken, _, _, slept] = said.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{said}") };
        let lock = traced.lock(name);
        assert_eq!(lock["acquisitions"].to_string(), taken);
        let share = lock["holder_off_cpu_share"].as_f64().expect("it is known");
        let is_off = off("stopped", share, slept.parse().unwrap());
        let is_in_part =
            parameters["switches_left_out"].as_u64() > Some(0) || parameters["switches_share"].as_f64() < Some(0.9);
        if is_off.is_none() && is_in_part {
            return;
        }
        seen.push((is_in_part, format!("{is_off:?}: {parameters}")));
    }
    // On a machine that others keep busy, threads that yield have the CPU too seldom.
    if seen.iter().all(|(is_in_part, _)| !is_in_part) {
        return println!("skipped: needs more switches a second than contend records: {pause_us} us apart");
    }
    panic!("five times: {seen:#?}");
}

/// One thread holds `inner` for 20 ms at a time; another waits for it with `outer` in hand; a third waits for `outer`.
#[test]
fn wait_for_a_waiting_holder_is_blamed_on_the_root_holder() {
    let _turn = has_the_cpus();
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
fn deadlock_is_reported_with_both_sites_while_it_lasts() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("deadlock", &[]) else { return };
    let traced = traced(&programs, &["--deadline", "300ms"], &program, &["1500"]);
    assert!(traced.output.status.success());
    assert_eq!(traced.record["parameters"]["exit_status"], 0);
    let stderr = String::from_utf8_lossy(&traced.output.stderr).into_owned();
    assert!(stderr.contains("deadlock after"), "{stderr}");
    let [deadlock] = traced.rows("deadlock")[..] else { panic!("{:#}", traced.record["results"]) };
    let steps = steps(deadlock);
    assert_eq!(steps.len(), 2);
    for (takes, site) in [("right", "leftmost (deadlock.c:1"), ("left", "rightmost (deadlock.c:1")] {
        let one = steps.iter().find(|step| step.contains(&format!("\"takes\":\"{takes}\""))).expect("both are named");
        assert!(one.contains(&format!("\"taken_site\":\"{site}")), "{one}");
    }
    let [order] = traced.rows("order")[..] else { panic!("{:#}", traced.record["results"]) };
    assert_eq!(order["verdict"], "reached");
}

#[test]
fn contradictory_orders_are_named_and_one_order_is_not() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("orders", &[]) else { return };
    let one = traced(&programs, &[], &program, &[]);
    assert_eq!(one.rows("order").len(), 0, "{:#}", one.record["results"]);
    assert_eq!(one.rows("lock").len(), 10);
    let both = traced(&programs, &[], &program, &["against"]);
    let [order] = both.rows("order")[..] else { panic!("{:#}", both.record["results"]) };
    assert_eq!(order["verdict"], "excluded");
    assert!(order["reason"].as_str().unwrap().contains("joined"), "{order}");
    let steps = steps(order);
    assert!(steps.iter().any(|step| step.contains("nested (orders.c:8)")), "{steps:?}");
    assert!(steps.iter().any(|step| step.contains("against (orders.c:15)")), "{steps:?}");
    assert!(steps.iter().all(|step| step.contains("locks[")), "{steps:?}");
}

#[test]
fn locks_without_separate_room_are_counted_by_call_site() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("many", &[]) else { return };
    let traced = traced(&programs, &[], &program, &["1000000"]);
    let parameters = &traced.record["parameters"];
    let seen: u64 = traced.rows("lock").iter().map(|row| row["acquisitions"].as_u64().unwrap()).sum();
    assert_eq!(seen + parameters["locks_left_out"].as_u64().unwrap(), 1_000_000);
    let warnings = traced.record["warnings"].to_string();
    assert!(warnings.contains("folded_locks") && !warnings.contains("trace_lost"), "{warnings}");
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

/// The debug information may be in a separate file, as distributions ship it.
#[test]
fn cpp_names_go_through_inlining_and_debug_files() {
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
    if !crate::command::archive::has_git() {
        return;
    }
    let archive = crate::command::archive::Archive::new();
    let said = |arguments: &[&str]| {
        let output = archive.contend(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        // The report of a traced program is on stderr.
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    for _ in 0..2 {
        assert!(said(&["trace", "--all", "--quiet", "--", program.to_str().unwrap(), "20"]).contains("stopped_lock"));
    }
    assert!(said(&["history"]).contains("trace"));
    let shown = said(&["history", "show", "last"]);
    for words in
        ["holder acquired it at", "Wait time by waiting call site and root holder", "stopped_lock @ user (known.c:"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(said(&["compare", "last~1", "last"]).contains("stopped_lock"));
    let page = said(&["report", "last"]);
    for words in [
        "Wait time by lock",
        "Wait time by lock, call site and root holder",
        "Longest waits",
        "wait and hold times",
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
    assert!(String::from_utf8_lossy(&output.stderr).contains("allowed: perfetto, folded"));
}

/// Returns whether a file is a row of whole packets: field 1, with its length.
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
