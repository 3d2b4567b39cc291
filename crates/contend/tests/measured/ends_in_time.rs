//! Runs end near their time, and soon after a signal, whatever the flags ask for. The flags are those that the command
//! line names, so a new flag is in these tests by itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// Flags that ask for more than a second allows, by command.
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
            "--lock std --children 2 --locks 2 --zipf 1",
        ],
    ),
    ("noise", &["", "--remedies", "--competitors 64", "--samples 100000000", "--wake 1ms,10ms"]),
    ("load", &["", "--grinders 4"]),
    ("ring", &["", "--threads 10000", "--large 10000000"]),
    ("core", &[""]),
    ("trace", &["", "--confirm"]),
    ("preempted", &[""]),
    ("lines", &[""]),
];
/// The program of a command that runs one. A repetition of `ab` is as long as the user's programs run; the braces are for flags
/// that put a value there.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("ab", &["sleep 0.01", "true {n}"]),
    ("lines", &["--", "sleep", "60"]),
    ("preempted", &["--", "sh", "-c", "exec sleep 60", "{threads}"]),
    ("trace", &["--", "sleep", "60"]),
];
/// Values, one of which each flag accepts that has no default and does not name its values.
const VALUES: &[&str] =
    &["10ms", "2", "1s", "0.5", "50%", "true", "fifo:1", "0,1", "0", "slower:5%", "std", "10", "10000", "n=1,2"];
/// Commands and flags that cannot be run here: the screen stays until a key is pressed, a container needs an engine and a control
/// group a hierarchy that may be written, without an end by a signal there is no other, a thorough survey takes the time that it
/// needs, questions and stopped holders refuse a second as too short, and interim results are for contend's own screen.
const LEFT_OUT: &[(&str, &str)] = &[
    ("survey", "thorough"),
    ("throughput", "questions"),
    ("throughput", "stop_holder"),
    ("", "live_to"),
    ("top", ""),
    ("", "container"),
    ("", "cgroup"),
    ("", "until_signal"),
    ("", "help"),
];
/// A run ends this long after its time at the latest, and this long after a signal. In a development build, the analysis of
/// what hundreds of threads did in a second takes several seconds itself.
const LATEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 12 } else { 3 });
const LATEST_AFTER_SIGNAL: Duration = Duration::from_secs(if cfg!(debug_assertions) { 12 } else { 2 });
/// The number of calls at once: most of them hardly use a CPU.
const AT_ONCE: usize = 6;
/// A run that is still there by then is killed.
const HANGS: Duration = Duration::from_secs(20);

/// A call of contend, without its time.
#[derive(Clone, Debug)]
struct Call {
    command: String,
    /// The flag that it is for, if it is made from the command line's own list.
    flag: Option<String>,
    words: Vec<String>,
}

impl Call {
    fn of_line((command, flags): (&str, &str)) -> Self {
        Self { command: command.to_owned(), flag: None, words: flags.split_whitespace().map(str::to_owned).collect() }
    }

    fn start(&self, seconds: &str) -> Child {
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        contend.args(self.command.split(' ')).args(&self.words).args(["--seconds", seconds]);
        for (flag, words) in [("quiet", &["--quiet"][..]), ("format", &["--format", "json"])] {
            contend.args(words.iter().filter(|_| self.flag.as_deref() != Some(flag)));
        }
        let attaches = self.words.iter().any(|word| word.starts_with("--pid="));
        let program = PROGRAMS.iter().find(|(command, _)| *command == self.command && !attaches);
        // One command is compared between revisions.
        let has_revisions = self.words.iter().any(|word| word.starts_with("--revisions="));
        let count = if has_revisions { 1 } else { usize::MAX };
        contend.args(program.into_iter().flat_map(|(_, words)| *words).take(count));
        contend.env("CONTEND_ARCHIVE", "").current_dir(folder());
        contend.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        contend.spawn().expect("the binary starts")
    }

    /// Runs it for a second; returns how long it took, and its status.
    fn run(&self) -> (Duration, Option<i32>) {
        end(&mut self.start("1"))
    }

    /// Returns whether it measures: with some flags a command prints something, whatever the others are.
    fn measures(&self) -> bool {
        !["explain", "list"].map(Some).contains(&self.flag.as_deref())
    }

    fn shown(&self) -> String {
        format!("{} {}", self.command, self.words.join(" "))
    }
}

/// Returns how long it takes to end, and its exit status; it is killed if that is too long.
fn end(child: &mut Child) -> (Duration, Option<i32>) {
    let began = Instant::now();
    while began.elapsed() < HANGS {
        if let Some(status) = child.try_wait().unwrap() {
            return (began.elapsed(), status.code());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (began.elapsed(), None)
}

/// Returns the commands that measure for a time, by their words.
fn measuring(above: &str, command: &clap::Command) -> Vec<(String, clap::Command)> {
    let is_seconds = |flag: &clap::Arg| flag.get_id() == "seconds" && !flag.is_hide_set();
    let name = |below: &clap::Command| format!("{above} {}", below.get_name()).trim().to_owned();
    let visible = command.get_subcommands().filter(|below| !below.is_hide_set());
    let own =
        (!above.is_empty() && command.get_arguments().any(is_seconds)).then(|| (above.to_owned(), command.clone()));
    own.into_iter().chain(visible.flat_map(|below| measuring(&name(below), below))).collect()
}

/// A process and an open port, which the calls use.
struct Surroundings {
    process: Child,
    listener: TcpListener,
}

impl Surroundings {
    fn new() -> Self {
        let process = Command::new("sleep").arg("600").spawn().unwrap();
        Self { process, listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }
}

/// Returns the directory in which the calls run, and leave what they write: a repository with a revision.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ends");
        std::fs::create_dir_all(&folder).unwrap();
        let author = ["-c", "user.name=contend", "-c", "user.email=contend@localhost"];
        for words in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "-m", "empty"]] {
            let git = Command::new("git").args(author).args(words).current_dir(&folder).status();
            assert!(git.is_ok_and(|status| status.success()), "git {words:?}");
        }
        folder
    })
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the words that may give a flag, the likely ones first.
fn spellings(flag: &clap::Arg, here: &Surroundings) -> Vec<Vec<String>> {
    let name = format!("--{}", flag.get_long().unwrap_or_default());
    if !flag.get_action().takes_values() {
        return vec![vec![name]];
    }
    let possible: Vec<String> = flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let defaults = flag.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
    let of_name = |name: &str| match name {
        "PID" => vec![here.process.id().to_string()],
        "PORT" => vec![here.listener.local_addr().unwrap().port().to_string()],
        "COMMAND" => vec!["true".to_owned()],
        "REV1,REV2" => vec!["HEAD,HEAD".to_owned()],
        "FILE" | "PATH" => vec![folder().join("file").display().to_string()],
        "DIR" => vec![folder().display().to_string()],
        "FORMAT" => vec!["perfetto".to_owned()],
        _ => Vec::new(),
    };
    let names: Vec<&str> = flag.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
    if let [first, second] = names[..] {
        return vec![[vec![name], of_name(first), of_name(second)].concat()];
    }
    let values = possible.into_iter().chain(defaults).chain(names.iter().flat_map(|name| of_name(name)));
    let values = values.chain(VALUES.iter().map(|value| (*value).to_owned()));
    let with_value = values.map(|value| vec![format!("{name}={value}")]);
    let alone = flag.get_num_args().is_some_and(|range| range.min_values() == 0).then(|| vec![name.clone()]);
    alone.into_iter().chain(with_value).collect()
}

/// Runs each flag of a command, alone or with others that it needs. Returns the calls with their times, and the flags that
/// no call accepts, and none of [`RUNS`] has.
fn run_flags(name: &str, command: &clap::Command, here: &Surroundings) -> Calls {
    let is_left_out = |id: &str| LEFT_OUT.iter().any(|(of, flag)| (*of == name || of.is_empty()) && *flag == id);
    let flags = command.get_arguments().filter(|flag| !flag.is_positional() && !flag.is_hide_set());
    let mut open: Vec<&clap::Arg> =
        flags.filter(|flag| *flag.get_id() != "seconds" && !is_left_out(flag.get_id().as_str())).collect();
    let mut done: Vec<(Call, Duration)> = Vec::new();
    for round in 0..3 {
        let companions: Vec<Vec<String>> = match round {
            0 => vec![Vec::new()],
            _ => done.iter().filter(|(call, _)| call.measures()).map(|(call, _)| call.words.clone()).collect(),
        };
        open.retain(|flag| {
            for words in spellings(flag, here) {
                for companion in &companions {
                    let words = [companion.clone(), words.clone()].concat();
                    let call = Call { command: name.to_owned(), flag: Some(flag.get_id().to_string()), words };
                    let (took, status) = call.run();
                    // Status 2 is a refusal: another value, or another flag, is needed.
                    if status != Some(2) {
                        done.push((call, took));
                        return false;
                    }
                }
            }
            true
        });
    }
    let refused = open.into_iter().map(|flag| format!("--{}", flag.get_long().unwrap_or_default()));
    let is_run = |flag: &String| lines().any(|call| call.command == name && call.words.contains(flag));
    (done, refused.filter(|flag| !is_run(flag)).map(|flag| format!("{name} {flag}")).collect())
}

/// Calls with their times, and the flags that no call accepts.
type Calls = (Vec<(Call, Duration)>, Vec<String>);

/// Returns what a function returns for each of these, in any order; several run at once.
fn at_once<T: Send, R: Send>(all: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let (left, done) = (Mutex::new(all), Mutex::default());
    let next = || left.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(one) = next() {
                    let result = each(one);
                    done.lock().map(|mut done: MutexGuard<'_, Vec<R>>| done.push(result)).unwrap();
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// Returns the calls whose flags the command line names.
fn of_command_line() -> &'static Calls {
    static ALL: OnceLock<Calls> = OnceLock::new();
    ALL.get_or_init(|| {
        let here = Surroundings::new();
        let mut commands = measuring("", &contend::command_line());
        commands.retain(|(name, _)| !LEFT_OUT.contains(&(name, "")));
        let all = at_once(commands, |(name, command)| run_flags(&name, &command, &here));
        let (done, refused): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        (done.concat(), refused.concat())
    })
}

fn lines() -> impl Iterator<Item = Call> {
    RUNS.iter().flat_map(|(command, flags)| flags.iter().map(move |flags| Call::of_line((command, flags))))
}

#[test]
fn every_run_ends_near_its_time() {
    let (of_flags, refused) = of_command_line();
    let mut took: Vec<(Duration, Call)> = of_flags.iter().map(|(call, took)| (*took, call.clone())).collect();
    // These use all CPUs.
    took.extend(lines().map(|call| (call.run().0, call)));
    took.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    println!("seen: {} calls; the longest:", took.len());
    took.iter().take(5).for_each(|(took, call)| println!("seen: {:.1} s: {}", took.as_secs_f64(), call.shown()));
    let late = |(took, call): &(Duration, Call)| {
        (*took > Duration::from_secs(1) + LATEST).then(|| format!("{}: {took:?}", call.shown()))
    };
    let late: Vec<String> = took.iter().filter_map(late).collect();
    assert!(late.is_empty(), "{late:#?}");
    assert!(refused.is_empty(), "no value is known for {refused:?}");
}

#[test]
fn every_run_ends_soon_after_a_signal() {
    let calls: Vec<Call> = lines().chain(of_command_line().0.iter().map(|(call, _)| call.clone())).collect();
    let mut took: Vec<(Duration, String)> = at_once(calls, |call| {
        let mut child = call.start("100");
        std::thread::sleep(Duration::from_secs(1));
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        (end(&mut child).0, call.shown())
    });
    took.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    println!("seen: {} calls ended by SIGTERM; the longest:", took.len());
    took.iter().take(5).for_each(|(took, call)| println!("seen: {:.1} s: {call}", took.as_secs_f64()));
    let late: Vec<&(Duration, String)> = took.iter().filter(|(took, _)| *took > LATEST_AFTER_SIGNAL).collect();
    assert!(late.is_empty(), "{late:#?}");
}
