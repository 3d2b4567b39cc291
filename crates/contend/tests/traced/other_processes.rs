//! A trace of a Go program does nothing to processes that were not named.

use crate::calls::{self, Allowed};
use crate::command::read;
use crate::programs::{Programs, traced};
use serde_json::Value;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Builds a Go program; `None` without Go.
fn built(programs: &Programs, name: &str) -> Option<PathBuf> {
    let program = programs.path(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trace/{name}.go"));
    let mut go = Command::new("go");
    let Ok(output) = go.args(["build", "-o"]).arg(&program).arg(source).env("CGO_ENABLED", "0").output() else {
        println!("skipped: needs go");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn started(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().copied()).stdout(Stdio::piped()).stdin(Stdio::null());
    command.spawn().unwrap()
}

/// Returns the command for a program on one CPU alone.
fn on_cpu(cpu: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", cpu]).arg(program).stdin(Stdio::null());
    command
}

fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Runs `contend trace --pid`, and returns its record; `None` if it ended with an error.
fn attached(programs: &Programs, pid: u32, seconds: &str) -> Option<Value> {
    let file = programs.path("attached.json");
    let flags = ["--pid", &pid.to_string(), "--seconds", seconds, "--format", "json", "--output"];
    let mut contend = on_cpu(FIRST, Path::new(env!("CARGO_BIN_EXE_contend")));
    contend.env("CONTEND_ARCHIVE", "").arg("trace").args(flags).arg(&file);
    contend.output().unwrap().status.success().then(|| read(&std::fs::read(&file).unwrap()))
}

/// Returns why the goroutines were not followed; `None` if they were.
fn unseen(record: &Value) -> Option<&str> {
    let warnings = record["warnings"].as_array().unwrap();
    warnings.iter().find(|warning| warning["code"] == "unseen_goroutines")?["message"].as_str()
}

/// Returns whether the goroutines were followed; `false` with a message.
fn are_seen(record: &Value) -> bool {
    if unseen(record).is_some() {
        println!("skipped: needs CAP_PERFMON, CAP_BPF and uprobes");
    }
    unseen(record).is_none()
}

/// Returns how many bytes of a process's code differ from its executable; the process is not a traced one.
fn changed_bytes(pid: u32) -> usize {
    let open = |name: &str| std::fs::File::open(format!("/proc/{pid}/{name}")).unwrap();
    let (memory, file) = (open("mem"), open("exe"));
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps.lines().find(|line| line.contains("r-xp") && line.ends_with("/instance")).unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (start, end) = line.split([' ', '-']).next().zip(line.split([' ', '-']).nth(1)).unwrap();
    let offset = line.split(' ').nth(2).unwrap();
    let length = (number(end) - number(start)) as usize;
    let [mut loaded, mut own] = [vec![0; length], vec![0; length]];
    memory.read_exact_at(&mut loaded, number(start)).unwrap();
    // The last page of the code can be longer than the file.
    let filled = file.read_at(&mut own, number(offset)).unwrap();
    loaded.iter().zip(&own[..filled]).filter(|(loaded, own)| loaded != own).count()
}

/// The CPU of contend and of the process that it traces, and that of the other process: they take no CPU time from each other.
const FIRST: &str = "0";
const SECOND: &str = "1";
/// Pairs of a trace and as long a time without one, unless `CONTEND_PAIRS` says how many: more make the interval narrower.
const PAIRS: usize = 15;
/// The part of its speed that an instance that is not traced may lose.
const MOST_LOST: f64 = 0.02;

/// Returns the median of an odd number of ratios with its interval of 95 % or more, by their order.
fn median_and_interval(mut ratios: Vec<f64>) -> [f64; 3] {
    ratios.sort_by(f64::total_cmp);
    // Each ratio is below the true median with a probability of one half: half of them are, give or take two deviations.
    let count = ratios.len() as f64;
    let outside = (count / 2.0 - 0.98 * count.sqrt()) as usize;
    [outside, ratios.len() / 2, ratios.len() - 1 - outside].map(|place| ratios[place])
}

/// A trace and a time without one alternate. The code is compared four times during each trace, since each comparison delays
/// the process.
#[test]
fn untraced_instance_is_neither_changed_nor_slowed() {
    let programs = Programs::new();
    let pairs = std::env::var("CONTEND_PAIRS").map_or(PAIRS, |count| count.parse().expect("a number"));
    let Some(program) = built(&programs, "instance") else { return };
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return println!("skipped: needs two CPUs");
    }
    let named = on_cpu(FIRST, &program).args(["locks", "3600000"]).stdout(Stdio::piped()).spawn().unwrap();
    // On one thread of Go's scheduler each exchange is a switch of goroutines, which calls all that is probed.
    let speeds = programs.path("speeds");
    let mut pairs_of_goroutines = on_cpu(SECOND, &program);
    pairs_of_goroutines.args(["pairs", "3600000"]).env("GOMAXPROCS", "1");
    let other = pairs_of_goroutines.stdout(std::fs::File::create(&speeds).unwrap()).spawn().unwrap();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let (mut windows, mut looks, mut records) = (Vec::new(), 0, Vec::new());
    std::thread::sleep(Duration::from_secs(1));
    for pair in 0..pairs {
        let [mut with, mut without] = [0..0, 0..0];
        // Each is first in every second pair, so that a drift of the machine is in both.
        for is_traced in [pair % 2 == 0, pair % 2 == 1] {
            let from = now();
            if is_traced {
                std::thread::scope(|scope| {
                    let record = scope.spawn(|| attached(&programs, named.id(), "1"));
                    while !record.is_finished() {
                        assert_eq!(changed_bytes(other.id()), 0);
                        looks += 1;
                        std::thread::sleep(Duration::from_millis(250));
                    }
                    records.push(record.join().unwrap().unwrap());
                });
                with = from..now();
            } else {
                std::thread::sleep(Duration::from_millis(1_300));
                without = from..now();
            }
        }
        windows.push([with, without]);
    }
    for mut child in [named, other] {
        child.kill().unwrap();
        ended(child);
    }
    let speeds = std::fs::read_to_string(speeds).unwrap();
    let reasons: Vec<&str> = records.iter().filter_map(unseen).collect();
    if reasons.len() == pairs {
        are_seen(&records[0]);
        return;
    }
    let lines: Vec<Vec<f64>> =
        speeds.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
    let ratios = |column: usize| {
        let median = |window: &Range<u128>| {
            let is_inside = |line: &&Vec<f64>| window.contains(&(line[0] as u128));
            let mut speeds: Vec<f64> = lines.iter().filter(is_inside).map(|line| line[column]).collect();
            speeds.sort_by(f64::total_cmp);
            speeds[speeds.len() / 2]
        };
        median_and_interval(windows.iter().map(|[with, without]| median(with) / median(without)).collect())
    };
    let [by_cpu_time, by_clock] = [1, 2].map(ratios);
    let shown = |[low, median, high]: [f64; 3]| format!("{median:.3} times ({low:.3} to {high:.3})");
    println!(
        "seen: goroutines of the traced instance were not followed in {} of {pairs} traces {reasons:?}",
        reasons.len()
    );
    println!("seen: next to {pairs} traces, code compared {looks} times: 0 bytes changed");
    println!("seen: exchanges per second of CPU time: {} those without a trace", shown(by_cpu_time));
    println!("seen: exchanges per second: {} those without a trace", shown(by_clock));
    // A breakpoint costs some ten times as much as what it delays.
    assert!(by_cpu_time[2] >= 1.0 - MOST_LOST, "{}", shown(by_cpu_time));
}

/// strace is the witness of what contend changes: nothing but its output, and code of the named process.
#[test]
fn probes_are_in_the_named_process_alone() {
    let programs = Programs::new();
    let (Some(program), written, output) =
        (built(&programs, "instance"), programs.path("calls"), programs.path("output"))
    else {
        return;
    };
    let Some(mut contend) = calls::watched(&written) else { return };
    std::fs::create_dir(&output).unwrap();
    let [named, other] = [(); 2].map(|()| started(&program, &["locks", "60000"], &[]));
    let pid = named.id();
    let flags = ["trace", "--seconds", "1", "--pid", &pid.to_string(), "--format", "json", "--output"];
    let record = output.join("record.json");
    contend.args(flags).arg(&record).env("CONTEND_ARCHIVE", "").stdin(Stdio::null());
    let said = contend.output().unwrap();
    for mut child in [named, other] {
        child.kill().unwrap();
        ended(child);
    }
    if !are_seen(&read(&std::fs::read(record).unwrap_or_else(|_| panic!("{said:?}")))) {
        return;
    }
    let text = std::fs::read_to_string(written).unwrap();
    let allowed = Allowed { output: &output, pid, asks: false, probes: true };
    assert_eq!(calls::forbidden(&text, &allowed), [""; 0]);
    let without = calls::forbidden(&text, &Allowed { probes: false, ..allowed });
    println!("seen: {} calls for probes, all for the named process", without.len());
    assert!(without.iter().any(|call| call.contains("perf_event_open")), "{without:#?}");
}

#[test]
fn program_that_a_go_program_becomes_is_not_changed() {
    let programs = Programs::new();
    let Some((program, code)) = built(&programs, "instance").zip(programs.compiled("code", &[])) else { return };
    for ms in ["0", "150", "300", "450"] {
        let untraced = started(&code, &["3"], &[]);
        let traced = traced(&programs, &[], &program, &["execs", ms, code.to_str().unwrap(), "2"]);
        assert_eq!(
            (traced.record["parameters"]["exit_status"].as_i64(), ended(untraced).0),
            (Some(0), Some(0)),
            "{ms}"
        );
    }
}

/// A launcher, and then a program with a mutex: the waits are those of the latter.
#[test]
fn go_program_that_a_go_program_becomes_is_followed() {
    let programs = Programs::new();
    let Some(program) = built(&programs, "instance") else { return };
    let Some(cache) = built(&programs, "cache") else { return };
    let traced = traced(&programs, &[], &program, &["execs", "400", cache.to_str().unwrap(), "true", "4000"]);
    if !are_seen(&traced.record) {
        return;
    }
    assert!(traced.lock("main.cache")["wait_total_s"].as_f64().unwrap() > 0.0);
    assert_eq!(traced.record["parameters"]["exit_status"], 0);
}

/// The process maps a file that names functions of Go's runtime, at offsets that are the middle of instructions in the
/// executable.
#[test]
fn file_that_names_the_runtime_does_not_place_probes() {
    let programs = Programs::new();
    let Some(program) = built(&programs, "instance") else { return };
    let place = Command::new(&program).arg("place").output().unwrap();
    let address: u64 = String::from_utf8(place.stdout).unwrap().trim().parse().unwrap();
    // Go's linker puts the file at this address, and `mov $N,%eax` begins with the one byte before its number.
    let offset = address - 0x40_0000 + 1;
    let mut assembly = format!(".text\n.globl start\nstart:\n.skip {}, 0x90\n", offset - 0x1000);
    for name in ["gopark", "ready", "semacquire1", "readyWithTime"] {
        assembly += &format!(
            ".globl \"runtime.{name}\"\n.type \"runtime.{name}\", @function\n\"runtime.{name}\":\n\
             .byte 0x55, 0x48, 0x89, 0xe5\n.size \"runtime.{name}\", 64\n"
        );
    }
    let [source, fake] = ["fake.s", "fake.so"].map(|name| programs.path(name));
    std::fs::write(&source, assembly + ".skip 4096, 0x90\n").unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-nostdlib", "-Wl,-z,max-page-size=0x1000", "-Wl,-z,separate-code", "-o"]);
    if !compiler.arg(&fake).arg(&source).status().is_ok_and(|status| status.success()) {
        return println!("skipped: needs cc");
    }
    let victim = started(&program, &["locks", "3000"], &[]);
    let fakes = started(&program, &["locks", "3000"], &[("FAKE", fake.to_str().unwrap())]);
    let record = attached(&programs, fakes.id(), "1");
    assert_eq!([ended(victim).0, ended(fakes).0], [Some(0), Some(0)]);
    let record = record.unwrap();
    if are_seen(&record) {
        let rows = record["results"].as_array().unwrap();
        assert!(rows.iter().any(|row| row["lock"] == "main.mutex"), "{rows:#?}");
    }
}

/// The child has other memory at the address of the watched word.
#[test]
fn child_of_a_watched_process_is_not_slowed() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("forked", &[]) else { return };
    let parent = started(&program, &[], &[]);
    let pid = parent.id().to_string();
    let flags = ["--pid", &pid, "--seconds", "30", "--word", "watched_word", "--word-budget", "100%"];
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").arg("trace").args(flags).stdin(Stdio::null());
    let stderr = String::from_utf8(contend.output().unwrap().stderr).unwrap();
    let (status, output) = ended(parent);
    if stderr.contains("--word:") {
        return println!("skipped: needs hardware watchpoints");
    }
    assert_eq!(status, Some(0), "{output}");
}
