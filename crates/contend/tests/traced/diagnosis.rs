//! The diagnosis of programs with one known lock problem each, or none: the verdict, the lock, the place, the cause and
//! the remedy.

use crate::command::read;
use crate::corpus::{self, ATTACHED, Answer, COMPUTING, FREE, LAUNCHED, SLEEPING, UNCLEAR, text, wrong_verdict};
use crate::programs::{Programs, Traced, command as trace, traced};
use crate::targets::Directory;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The run time of a program: twenty critical sections of the longest. Where other programs have the CPUs, contend takes few
/// samples in that time, and further runs are longer.
const LENGTHS_MS: [&str; 4] = ["500", "1000", "2000", "4000"];

fn program_of(traced: &Traced) -> Value {
    let budgets = traced.rows("budget");
    let program = budgets.iter().find(|row| row.get("group").is_none() && row.get("thread").is_none());
    (*program.unwrap_or_else(|| panic!("{budgets:?}"))).clone()
}

/// Asserts that the parts of each budget sum to the time that its threads were seen to live.
fn assert_budgets_sum(traced: &Traced) {
    const PARTS: [&str; 7] = ["on_cpu_s", "ready_s", "lock_s", "work_s", "sleep_s", "io_s", "unknown_s"];
    for row in traced.rows("budget") {
        let sum: f64 = PARTS.iter().map(|part| row[part].as_f64().unwrap()).sum();
        let lived = row["lived_s"].as_f64().unwrap();
        assert!((sum - lived).abs() < 1e-6, "{row}");
    }
}

#[test]
fn known_lock_problems_have_their_object_place_cause_and_remedy() {
    const AT_ONCE: usize = 3;
    let programs = SLEEPING.chunks(SLEEPING.len().div_ceil(AT_ONCE));
    std::thread::scope(|scope| programs.for_each(|programs| drop(scope.spawn(|| assert_diagnosed(programs)))));
}

/// The lock of a file that a process has which is not traced: this one.
#[test]
fn process_that_has_the_lock_of_a_file_is_named() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let file = std::fs::File::open(&patients).unwrap();
    file.lock().unwrap();
    let traced = traced(&programs, &["--seconds", "1"], &patients, &["file", "1000"]);
    let findings = traced.rows("finding");
    let process = format!("process {} ", std::process::id());
    let is_named = findings.first().is_some_and(|row| text(row, "cause").contains(&process));
    assert!(
        is_named && text(findings[0], "object").contains("patients"),
        "{findings:#?} {}",
        traced.record["parameters"]
    );
}

#[test]
fn known_lock_problems_of_computing_threads_are_diagnosed() {
    assert_diagnosed(&COMPUTING);
}

fn assert_diagnosed(answers: &[Answer]) {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    for answer in answers {
        let (program, has_length) = match answer.patient {
            "pool" => (compiled_pool(&programs), false),
            _ => (Some(patients.clone()), true),
        };
        let Some(program) = program else { continue };
        // Other programs on the CPUs can be the larger problem; not in each of several runs.
        let runs = LENGTHS_MS.iter().map(|length| {
            let words = if has_length { vec![answer.patient, length] } else { vec![] };
            renewed_unless(wrong_in(&saved(&programs, &program, &words), answer), &programs, LAUNCHED, answer.patient)
        });
        let wrong: Vec<String> = runs.map_while(|wrong| wrong).collect();
        assert!(wrong.len() < LENGTHS_MS.len(), "each time: {}", wrong.join("\n"));
    }
}

const EVIDENCE: &str = "evidence.gz";

/// Traces a program, and saves the evidence.
fn saved(programs: &Programs, program: &Path, words: &[&str]) -> Traced {
    traced(programs, &["--save", programs.path(EVIDENCE).to_str().unwrap()], program, words)
}

/// Puts the evidence that was saved last into the corpus, if that is to be recorded again and nothing is wrong with it.
fn renewed_unless(wrong: Option<String>, programs: &Programs, how: &str, patient: &str) -> Option<String> {
    if wrong.is_none() && std::env::var_os("CONTEND_RENEW").is_some() {
        corpus::keep(&programs.path(EVIDENCE), how, patient);
    }
    wrong
}

/// Attached, samples see less: the answer may be weaker, and never another one.
#[test]
fn known_lock_problems_have_no_contrary_answer_when_attached() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    for answer in corpus::attached() {
        let (evidence, file) = (programs.path(EVIDENCE), programs.path("attached.json"));
        let mut running = Command::new(&patients).args([answer.patient, "6000"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        contend.env("CONTEND_ARCHIVE", "").stdin(Stdio::null()).args(["trace", "--seconds", "2", "--format", "json"]);
        contend.args(["--pid", &running.id().to_string(), "--save"]).arg(&evidence).arg("--output").arg(&file);
        let output = contend.output().unwrap();
        let _ = running.kill();
        running.wait().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let wrong = corpus::contrary_to(&read(&std::fs::read(&file).unwrap()), answer);
        let wrong = renewed_unless(wrong, &programs, ATTACHED, answer.patient);
        assert_eq!(wrong, None);
    }
}

/// Returns the error in the diagnosis of a program, if there is one.
fn wrong_in(traced: &Traced, answer: &Answer) -> Option<String> {
    assert_budgets_sum(traced);
    let needs_perf = answer.patient == "own-spins";
    if needs_perf && (traced.record["parameters"]["switches"].is_null() || cfg!(not(target_arch = "x86_64"))) {
        println!("skipped: needs perf_event_open, and an x86-64 CPU");
        return None;
    }
    let wrong = corpus::wrong_in(&traced.record, answer);
    if wrong.is_none() {
        assert_waits_agree(traced, answer.patient);
    }
    wrong
}

#[test]
fn mutex_of_several_processes_is_one_row_with_its_holder() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("shared", &[]) else { return };
    let wrong = || {
        // A short run, since a longer one records its switches in windows, and knows the holder only in these.
        let traced = traced(&programs, &[], &program, &["200"]);
        let mutexes: Vec<&Value> = traced.rows("lock").into_iter().filter(|row| row["type"] == "mutex").collect();
        let [mutex] = mutexes[..] else { panic!("{mutexes:#?}") };
        let known = mutex["wait_total_s"].as_f64().unwrap() - mutex["unknown_s"].as_f64().unwrap();
        let is_known = mutex["acquisitions"] == 400 && known > 0.5 * mutex["wait_total_s"].as_f64().unwrap();
        let findings = traced.rows("finding");
        let cause = findings.first().map_or("", |first| text(first, "cause"));
        let is_right = is_known && cause.contains("the holder, in process ") || cause.contains("in another process");
        (!(is_right && cause.contains("slept (nanosleep)"))).then(|| format!("{mutex:#} {findings:#?}"))
    };
    // Other programs on the CPUs can be the larger problem; not in each of several runs.
    let all: Vec<String> = (0..4).map_while(|_| wrong()).collect();
    assert!(all.len() < 4, "four times: {}", all.join("\n"));
}

/// Asserts that a finding has the wait of its row in the table unless it names samples as its source, and that the verdict
/// has the sum of the table where that is known.
fn assert_waits_agree(traced: &Traced, patient: &str) {
    let (findings, locks) = (traced.rows("finding"), traced.rows("lock"));
    let by_calls: Vec<_> = findings.iter().filter(|row| row["seen_by"] == "call").collect();
    for finding in &by_calls {
        let has_its_wait = |row: &&&Value| row["wait_total_s"] == finding["wait_total_s"];
        assert!(locks.iter().any(|row| has_its_wait(&row)), "{patient}: {finding:#} {locks:#?}");
    }
    if !["sleeps", "chain"].contains(&patient) || by_calls.len() < findings.len() {
        return;
    }
    let excluding = locks.iter().filter(|row| row["type"] == "mutex");
    let sum: f64 = excluding.map(|row| row["wait_busy_share"].as_f64().unwrap()).sum();
    let reason = text(&traced.record["parameters"], "verdict_reason");
    let stated: f64 = reason.split(" for ").nth(2).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap();
    assert!((stated / 100.0 - sum.min(1.0)).abs() <= 0.0051, "{patient}: {sum} {reason}");
}

fn compiled_pool(programs: &Programs) -> Option<std::path::PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/pool.cpp");
    let program = programs.path("pool");
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++20", "-g", "-O2", "-pthread", "-o"]).arg(&program).arg(source);
    let is_compiled = compiler.output().is_ok_and(|output| output.status.success());
    if !is_compiled {
        println!("skipped: needs c++ with C++20's semaphores");
    }
    is_compiled.then_some(program)
}

/// Its workers wait for items in a semaphore that no call shows, as the threads of the pool wait for their turn.
#[test]
fn empty_queue_of_a_semaphore_is_no_lock() {
    let programs = Programs::new();
    let Some(program) = compiled_pool(&programs) else { return };
    let traced = traced(&programs, &[], &program, &["queue"]);
    let findings = traced.rows("finding");
    assert_ne!(traced.record["parameters"]["verdict"], "locks", "{:#} {findings:#?}", program_of(&traced));
    assert!(findings.iter().all(|row| !text(row, "object").contains("items")), "{findings:#?}");
}

/// Creates a control group with a tenth of a CPU, in either version; `None`, with a message, where that is not allowed.
fn group_with_a_tenth_of_a_cpu() -> Option<Directory> {
    let name = format!("contend-test-limit-{}", std::process::id());
    let created = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"].iter().find_map(|mount| {
        let group = Path::new(mount).join(&name);
        std::fs::create_dir(&group).ok()?;
        let group = Directory(group);
        let is_limited = std::fs::write(group.0.join("cpu.max"), "10000 100000").is_ok()
            || std::fs::write(group.0.join("cpu.cfs_quota_us"), "10000").is_ok();
        is_limited.then_some(group)
    });
    if created.is_none() {
        println!("skipped: needs root and a writable cgroup file system with the controller cpu");
    }
    created
}

const LIMIT: &str = "its control group allows 0.1 CPUs (cpu.max)";

#[test]
fn limit_of_a_control_group_is_named_as_what_limits() {
    let programs = Programs::new();
    let (Some(group), Some(patients)) = (group_with_a_tenth_of_a_cpu(), programs.compiled("patients", &["-O2"])) else {
        return;
    };
    let script = format!("echo $$ > {}/cgroup.procs; exec {} healthy", group.0.display(), patients.display());
    // Among other programs, it may get less than the limit.
    let said = || {
        let traced = traced(&programs, &["--seconds", "3"], Path::new("sh"), &["-c", &script]);
        text(&traced.record["parameters"], "verdict_reason").to_owned()
    };
    let all: Vec<String> = (0..4).map(|_| said()).take_while(|said| !said.contains(LIMIT)).collect();
    assert!(all.len() < 4, "{all:#?}");
}

#[test]
fn programs_with_free_locks_have_the_verdict_not_locks() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    for free in &FREE {
        let wrong = || {
            let traced = saved(&programs, &patients, &[free.patient]);
            assert_budgets_sum(&traced);
            renewed_unless(wrong_verdict(&traced.record, free), &programs, LAUNCHED, free.patient)
        };
        // Other programs on the CPUs can be the larger problem; not in each of several runs.
        let all: Vec<String> = (0..4).map_while(|_| wrong()).collect();
        assert!(all.len() < 4, "four times: {}", all.join("\n"));
    }
}

/// Where samples do not show the purpose of a wait, the reason of the verdict says what it may be.
#[test]
fn waits_that_may_be_for_a_lock_or_for_work_are_said_to_be() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    for free in &UNCLEAR {
        let wrong = || {
            let wrong = wrong_verdict(&saved(&programs, &patients, &[free.patient]).record, free);
            renewed_unless(wrong, &programs, LAUNCHED, free.patient)
        };
        // Other programs on the CPUs can be the larger problem; not in each of several runs.
        let all: Vec<String> = (0..4).map_while(|_| wrong()).collect();
        assert!(all.len() < 4, "four times: {}", all.join("\n"));
    }
}

/// The main thread sleeps until the others end, which does not make the run as long as it is.
#[test]
fn thread_that_sleeps_does_not_make_the_run_long() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let wrong = || {
        let traced = traced(&programs, &[], &patients, &["sleeps"]);
        let findings = traced.rows("finding");
        let is_right = |row: &&Value| !text(row, "cause").contains("worked for");
        (!findings.first().is_some_and(is_right)).then(|| format!("{findings:#?}"))
    };
    let all: Vec<String> = (0..4).map_while(|_| wrong()).collect();
    assert!(all.len() < 4, "four times: {}", all.join("\n"));
}

#[test]
fn diagnosis_fits_twenty_lines_of_eighty_columns() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let shown = |flags: &[&str]| {
        let output = trace(flags, &patients, &["sleeps"]).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let brief = shown(&["--quiet"]);
    assert!(brief.lines().count() <= 20, "{brief}");
    let command = |line: &&str| line.contains("contend trace --what-if");
    let first = |line: &&str| line.contains("ended with status 0");
    let wide = brief.lines().filter(|line| !command(line) && !first(line)).find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{brief}");
    for words in ["Thread time", "Locks: threads waited", "1 cache_lock", "Remedy:", "--all prints"] {
        assert!(brief.contains(words), "{words}: {brief}");
    }
    let all = shown(&["--quiet", "--all"]);
    for words in ALL_TABLES {
        assert!(all.contains(words), "{words}: {all}");
    }
}

/// Words of the tables that `--all` adds.
const ALL_TABLES: [&str; 4] =
    ["Time of the threads", "sleeper", "Wait time by waiting call site and root holder", "holder acquired it at"];

#[test]
fn record_of_a_brief_output_is_shown_with_all_tables() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    if Command::new("git").arg("--version").output().is_err() {
        return println!("skipped: needs git");
    }
    let archive = programs.path("archive.git");
    let output = trace(&["--quiet"], &patients, &["sleeps"]).env("CONTEND_ARCHIVE", &archive).output().unwrap();
    assert!(output.status.success());
    let mut history = Command::new(env!("CARGO_BIN_EXE_contend"));
    let output = history.args(["history", "show", "last", "--all"]).env("CONTEND_ARCHIVE", &archive).output().unwrap();
    let all = String::from_utf8(output.stdout).unwrap();
    for words in ALL_TABLES {
        assert!(all.contains(words), "{words}: {all}");
    }
}

#[test]
fn program_without_dashes_gives_its_exit_status() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.env("CONTEND_ARCHIVE", "").args(["trace", "--quiet"]).args(words);
        command.output().unwrap().status.code()
    };
    let patients = patients.to_str().unwrap();
    assert_eq!(run(&[patients, "idle"]), Some(0));
    assert_eq!(run(&[patients, "--unknown"]), Some(2));
    assert_eq!(run(&["--", patients]), Some(2));
    assert_eq!(run(&["sh", "-c", "kill -TERM $$"]), Some(128 + 15));
}

/// Attaches to a process of the same user, without privileges.
#[test]
fn a_process_of_ones_own_is_diagnosed_without_root() {
    const NOBODY: u32 = 65_534;
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let directory = patients.parent().unwrap();
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = || {
        let Ok(mut program) = Command::new(&patients).args(["sleeps", "4000"]).uid(NOBODY).spawn() else {
            println!("skipped: needs root, to become a user without privileges");
            return None;
        };
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        contend.env("CONTEND_ARCHIVE", "").args(["trace", "--format", "json", "--seconds", "2", "--pid"]);
        let output = contend.arg(program.id().to_string()).uid(NOBODY).output().unwrap();
        program.wait().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        // On a busy machine it may have ended before.
        Some((output.status.success(), output.stdout, stderr))
    };
    for turn in 0..4 {
        let Some((is_good, stdout, stderr)) = run() else { return };
        if stderr.contains("needs root") && !is_good {
            return println!("skipped: needs kernel.yama.ptrace_scope 0");
        }
        if !is_good && turn < 3 {
            continue;
        }
        assert!(is_good, "{stderr}");
        let record = crate::command::read(&stdout);
        let codes: Vec<&str> =
            record["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect();
        if !codes.contains(&"no_futex_calls") {
            return println!("skipped: needs a tracefs that others cannot read");
        }
        let traced = Traced {
            output: std::process::Output { status: Default::default(), stdout: vec![], stderr: vec![] },
            record,
        };
        assert_budgets_sum(&traced);
        let finding = traced.rows("finding").into_iter().find(|row| text(row, "object") == "cache_lock").cloned();
        if let Some(finding) = finding {
            assert_eq!(traced.record["parameters"]["verdict"], "locks");
            assert!(text(&finding, "cause").contains("slept (nanosleep)"), "{finding:#}");
            return;
        }
        assert!(turn < 3, "{:#}", traced.record["results"]);
    }
}

/// Checks that the parts of the waits agree with the account that the program keeps itself, also while other programs
/// run.
#[test]
fn split_of_waits_is_within_five_points_of_the_truth() {
    const POINTS: f64 = 0.05;
    let programs = Programs::new();
    let Some(program) = programs.compiled("parts", &["-O2"]) else { return };
    for flags in [&[][..], &["--full"]] {
        let wrong = || {
            let traced = traced(&programs, flags, &program, &[]);
            if traced.record["parameters"]["switches"].is_null() {
                println!("skipped: needs perf_event_open");
                return None;
            }
            let printed = String::from_utf8_lossy(&traced.output.stdout).into_owned();
            let account =
                printed.lines().find_map(|line| line.strip_prefix("account ")).unwrap_or_else(|| panic!("{printed}"));
            let account: Vec<f64> = account.split(' ').map(|number| number.parse().unwrap()).collect();
            let [all, computed, slept, after] = account[..] else { panic!("{account:?}") };
            let locks = traced.rows("lock");
            let lock = locks.iter().find(|row| row["lock"] == "part_lock").unwrap_or_else(|| panic!("{locks:#?}"));
            let waited = lock["wait_total_s"].as_f64().unwrap();
            let share = |field: &str| lock[field].as_f64().unwrap() / waited;
            let computing = share("held_running_s") + share("held_preempted_s");
            let parts = [
                (computing, computed / all),
                (share("held_blocked_s"), slept / all),
                (share("released_s"), after / all),
                (waited / all, 1.0),
            ];
            let is_off = parts.iter().any(|(told, known)| (told - known).abs() > POINTS);
            is_off.then(|| format!("{flags:?} {parts:?} {lock:#}"))
        };
        let found: Vec<Option<String>> = (0..3).map(|_| wrong()).collect();
        assert!(found.iter().any(Option::is_none), "three times: {found:?}");
    }
}
