//! `contend test`: a command of a test suite, with an explanation if it hangs.

use super::hang::{explained, text};
use anyhow::Context;
use clap::{Args, ValueHint};
use hang::snapshot::{Language, Process, Seen};
use hang::{Explanation, Snapshot, words};
use harness::output::{OutputFile, eprint_line, json_line};
use harness::{Interruption, Outcome, SharedFlags, UsageError, parse_duration};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::read_to_string;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};
use terminal::nanoseconds;

/// Run a test command; explain and end it if nothing moves for a time
///
/// The command's input, output and exit status are its own. When none of its processes has used the CPU, written or
/// started anything for the deadline, contend looks at them as `contend hang` does, prints the explanation on standard
/// error, ends them and exits with status 1. A command that polls now and then counts as one that does not move.
#[derive(Args, Clone, Debug)]
#[command(override_usage = "contend test [OPTIONS] -- <COMMAND> [ARGS]...")]
pub struct Flags {
    /// Time without any movement after which the command is taken to hang
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration::span)]
    pub deadline: Duration,

    /// Command to run, and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND", num_args = 1.., required = true, value_hint = ValueHint::CommandName)]
    pub command: Vec<OsString>,
}

/// The period at which the end of the command is looked for, and that of its movement.
const LOOK: Duration = Duration::from_millis(20);
const PERIOD: Duration = Duration::from_millis(500);
/// The share of one CPU below which a command only polls: threads that ask for the interpreter's lock of Python take less.
const POLLING: f64 = 0.01;
/// The time that the processes have to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// Processes of a command that are looked at.
const MOST_PROCESSES: usize = 4_096;

/// Runs the command.
///
/// # Errors
/// It cannot be started, or the file of `--output` cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let file = shared.output.as_ref().map(|path| OutputFile::open("--output", path)).transpose()?;
    let interruption = Interruption::catch()?;
    // Processes that lose their parent become children of contend, so that none is left behind.
    set_child_subreaper(Pid::from_raw(1)).context("cannot become the parent of orphaned processes")?;
    let (program, arguments) = flags.command.split_first().context("no command")?;
    let began = Instant::now();
    let child = Command::new(program).args(arguments).spawn();
    let child =
        child.map_err(|error| UsageError(format!("{}: {}", program.display(), blame::names::message(&error))))?;
    let end = watch(child, flags.deadline, &interruption)?;
    let took_s = began.elapsed().as_secs_f64();
    if let End::Hung(explanation, _) = &end {
        let deadline = nanoseconds(flags.deadline.as_secs_f64() * 1e9);
        eprint_line(text(explanation).trim_end());
        eprint_line(&format!("contend test: nothing moved for {deadline}, so the command was ended"));
    }
    if let (Some(file), Some(path)) = (file, &shared.output) {
        let name: Vec<_> = flags.command.iter().map(|word| word.to_string_lossy()).collect();
        file.write(content(&end, path, &name.join(" "), took_s)?.as_bytes())?;
    }
    Ok(match end {
        End::Itself(status) => match status.code().or(status.signal().map(|signal| 128 + signal)) {
            Some(0) => Outcome::Done,
            code => Outcome::ProgramFailed(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        },
        End::Hung(..) => Outcome::ProgramFailed(1),
        End::Interrupted => Outcome::Interrupted,
    })
}

/// How the command ended.
enum End {
    Itself(ExitStatus),
    Hung(Box<Explanation>, Box<Snapshot>),
    Interrupted,
}

fn watch(mut child: Child, deadline: Duration, interruption: &Interruption) -> anyhow::Result<End> {
    let (mut moved, mut next) = (Instant::now(), Instant::now());
    let mut before = Activity::default();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Itself(status));
        }
        let now = Instant::now();
        if interruption.is_requested() {
            end(&mut child);
            return Ok(End::Interrupted);
        }
        if now >= next {
            let activity = Activity::of(&descendants(std::process::id()));
            if activity.has_moved_since(&before) {
                moved = now;
            }
            (before, next) = (activity, now + PERIOD.min(deadline / 4));
        }
        if now - moved >= deadline {
            let (explanation, snapshot) = explained(&descendants(std::process::id()));
            // It may have ended or gone on while it was looked at. A virtual machine worked for the look itself.
            let after = Activity::of(&descendants(std::process::id()));
            let asked = asked(&snapshot);
            if after.without(&asked).has_moved_since(&before.without(&asked)) || has_moved(&snapshot, &asked) {
                (moved, before) = (Instant::now(), after);
                continue;
            }
            end(&mut child);
            return Ok(End::Hung(Box::new(explanation), Box::new(snapshot)));
        }
        sleep(LOOK);
    }
}

/// Returns the processes that answered the look.
fn asked(snapshot: &Snapshot) -> Vec<u32> {
    let is_java = |process: &&Process| process.language == Language::Java;
    snapshot.processes.iter().filter(is_java).map(|process| process.pid).collect()
}

/// Returns whether a thread of these processes ran between the two looks, as far as they say which are the program's.
fn has_moved(snapshot: &Snapshot, pids: &[u32]) -> bool {
    let is_seen = |process: &&Process| pids.contains(&process.pid) && process.seen != Seen::Not;
    snapshot.processes.iter().filter(is_seen).flat_map(|process| &process.threads).any(|thread| thread.has_moved)
}

/// The work of the processes of the command so far.
#[derive(Default)]
struct Activity {
    at: Option<Instant>,
    /// CPU time in ns, and bytes that were written, by process.
    sums: BTreeMap<u32, (u64, u64)>,
}

impl Activity {
    fn of(pids: &[u32]) -> Self {
        let sums = pids.iter().map(|pid| (*pid, (cpu_ns(*pid), written(*pid)))).collect();
        Self { at: Some(Instant::now()), sums }
    }

    fn without(&self, pids: &[u32]) -> Self {
        let sums = self.sums.iter().filter(|(pid, _)| !pids.contains(pid));
        Self { at: self.at, sums: sums.map(|(pid, sums)| (*pid, *sums)).collect() }
    }

    fn has_moved_since(&self, before: &Self) -> bool {
        let Some((now, then)) = self.at.zip(before.at) else { return true };
        let is_same = self.sums.len() == before.sums.len()
            && self
                .sums
                .iter()
                .zip(&before.sums)
                .all(|((pid, sums), (old, sums_before))| pid == old && sums.1 == sums_before.1);
        let total = |activity: &Self| activity.sums.values().map(|(ns, _)| ns).sum::<u64>();
        let used = total(self).saturating_sub(total(before)) as f64;
        !is_same || used > POLLING * (now - then).as_nanos() as f64
    }
}

fn cpu_ns(pid: u32) -> u64 {
    let threads = blame::sampling::threads(pid);
    let sums = threads.filter_map(|thread| read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok());
    sums.filter_map(|sums| sums.split_ascii_whitespace().next()?.parse::<u64>().ok()).sum()
}

fn written(pid: u32) -> u64 {
    let text = read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let written = text.lines().find_map(|line| line.strip_prefix("wchar:"));
    written.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0)
}

/// Returns the processes below a process, parents first.
fn descendants(pid: u32) -> Vec<u32> {
    let (mut found, mut next) = (Vec::new(), vec![pid]);
    while let Some(parent) = next.pop().filter(|_| found.len() < MOST_PROCESSES) {
        let lists = blame::sampling::threads(parent)
            .filter_map(|thread| read_to_string(format!("/proc/{parent}/task/{thread}/children")).ok());
        for child in lists.flat_map(|list| list.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            let child = child.parse().unwrap_or(0);
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// Ends the processes that the command has started: with SIGTERM, and with SIGKILL those that are left after a while.
fn end(child: &mut Child) {
    let signal_all = |signal: Signal| {
        let pids = descendants(std::process::id()).into_iter().filter_map(|pid| Pid::from_raw(pid as i32));
        pids.for_each(|pid| {
            let _ = kill_process(pid, signal);
        });
    };
    // A stopped process takes no other signal.
    [Signal::TERM, Signal::CONT].into_iter().for_each(signal_all);
    let until = Instant::now() + GRACE;
    let mut is_over = false;
    while !is_over {
        let _ = child.try_wait();
        // Orphans are children of contend; the command itself is collected above, so that its number stays its own.
        let is_left = descendants(std::process::id()).len() > usize::from(matches!(child.try_wait(), Ok(None)));
        is_over = !is_left && !matches!(child.try_wait(), Ok(None));
        if Instant::now() >= until {
            signal_all(Signal::KILL);
            let _ = child.wait();
            is_over = true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        }
        sleep(LOOK);
    }
}

/// Returns the content of the file of `--output`, by its name: JUnit's XML, JSON with the evidence, or text.
fn content(end: &End, path: &Path, name: &str, took_s: f64) -> anyhow::Result<String> {
    let kind = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let (message, whole) = match end {
        End::Itself(status) if status.success() => (None, String::new()),
        End::Itself(status) => (Some(status.to_string()), String::new()),
        End::Hung(explanation, _) => (Some(words::sentence(explanation)), text(explanation)),
        End::Interrupted => (Some("interrupted".into()), String::new()),
    };
    Ok(match kind {
        "xml" => junit(name, message.as_deref(), &whole, took_s),
        "json" => {
            let hung = if let End::Hung(explanation, snapshot) = end { Some((explanation, snapshot)) } else { None };
            json_line(&serde_json::json!({
                "schema": "contend/test/1", "command": name, "took_s": took_s, "message": message,
                "explanation": hung.map(|(explanation, _)| explanation), "snapshot": hung.map(|(_, snapshot)| snapshot),
            }))?
        }
        _ => message.map_or_else(String::new, |message| if whole.is_empty() { message + "\n" } else { whole }),
    })
}

fn junit(name: &str, message: Option<&str>, whole: &str, took_s: f64) -> String {
    let escaped = |text: &str| {
        let text = terminal::escaped_text(text).replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    let failure = message.map_or_else(String::new, |message| {
        format!("<failure message=\"{}\">{}</failure>", escaped(message), escaped(whole))
    });
    let failures = usize::from(message.is_some());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites><testsuite name=\"contend test\" tests=\"1\" \
         failures=\"{failures}\" time=\"{took_s:.3}\"><testcase classname=\"contend.test\" name=\"{}\" \
         time=\"{took_s:.3}\">{failure}</testcase></testsuite></testsuites>\n",
        escaped(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_has_a_failure_only_with_a_message() {
        assert!(!junit("pytest", None, "", 1.0).contains("<failure"));
        let red = junit("a & b", Some("Deadlock: <x>."), "Deadlock: <x>.\n", 1.0);
        assert!(red.contains("failures=\"1\"") && red.contains("a &amp; b") && red.contains("&lt;x&gt;"), "{red}");
    }

    #[test]
    fn new_process_written_byte_or_cpu_time_is_movement() {
        let at = Instant::now();
        let activity = |ms: u64, sums: &[(u32, (u64, u64))]| Activity {
            at: Some(at + Duration::from_millis(ms)),
            sums: sums.iter().copied().collect(),
        };
        let before = activity(0, &[(7, (100, 5))]);
        assert!(!activity(500, &[(7, (1_000_000, 5))]).has_moved_since(&before), "polling");
        assert!(activity(500, &[(7, (9_000_000, 5))]).has_moved_since(&before));
        assert!(activity(500, &[(7, (100, 6))]).has_moved_since(&before));
        assert!(activity(500, &[(7, (100, 5)), (8, (0, 0))]).has_moved_since(&before));
        assert!(activity(500, &[(8, (100, 5))]).has_moved_since(&before));
    }
}
