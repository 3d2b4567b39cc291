//! `contend trace --pid` as root, on hostile and odd processes of another user (`tests/trace/hostile.c`): nothing outside of
//! its output is created, changed or removed, and no code of any process of the machine changes. `strace` is the witness of
//! its calls.

use crate::calls::{self, Allowed};
use crate::code::{self, Code};
use crate::command::held;
use crate::programs::Programs;
use crate::runtimes_hostile::library;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const NOBODY: u32 = 65_534;

const KINDS: [&str; 48] = [
    "plain",
    "machine",
    "machine-in-a-root-directory",
    "machine-without-a-handler",
    "machine-that-execs",
    "machine-with-a-linked-request",
    "machine-with-a-directory",
    "machine-with-a-pipe",
    "machine-that-drips",
    "machine-that-floods",
    "machine-that-is-silent",
    "machine-that-wanders",
    "machine-that-stops",
    "chroot-with-a-link",
    "chroot-without-proc",
    "mount-namespace",
    "network-of-mounts",
    "pid-namespace",
    "user-namespace",
    "stopped-by-a-tracer",
    "exec-0",
    "exec-1",
    "exec-10",
    "exec-50",
    "exec-150",
    "exec-300",
    "exec-500",
    "exec-900",
    "execs-for-ever",
    "unlinked",
    "replaced",
    "vanishing-libraries",
    "truncated-library",
    "perf-map-pipe",
    "perf-map-link",
    "perf-map-endless",
    "python-like",
    "many-threads",
    "churn",
    "forks",
    "vanishes",
    "not-dumpable",
    "strict",
    "locks-its-memory",
    "named-with-controls",
    "maps-with-odd-names",
    "leader-has-ended",
    "without-descriptors",
];

/// A process of a kind, with the directories that it knows.
struct Process {
    child: Child,
    folder: PathBuf,
}

impl Process {
    /// Starts it, and waits until it is what its kind says.
    fn start(program: &Path, folder: &Path, kind: &str, library: Option<&Path>) -> Self {
        let folder = folder.join(kind);
        let (own, roots) = (folder.join("own"), folder.join("roots"));
        [&own, &roots].iter().for_each(|directory| fs::create_dir_all(directory).unwrap());
        fs::write(roots.join("secret"), "secret").unwrap();
        fs::set_permissions(roots.join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
        // Another name of the same file, which the process may remove.
        let name = own.join("program");
        fs::hard_link(program, &name).unwrap();
        let mut command = Command::new(name);
        library.map(|library| command.env("LIBJVM", library));
        let mut child = command.arg(kind).args([own, roots]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{kind}");
        Self { child, folder }
    }

    fn end(mut self, signal: &str) -> Option<i32> {
        let _ = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        self.child.wait().unwrap().code()
    }
}

/// Everything below a directory that a change of it would change, by path.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (u64, u32, u32, u64, i64)> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            found.extend(contents(&path));
        }
        let times = if metadata.is_dir() { 0 } else { metadata.mtime_nsec() };
        found.insert(path, (metadata.ino(), metadata.mode(), metadata.uid(), metadata.size(), times));
    }
    found
}

/// The files of attaching and of contend in a directory that all users share.
fn shared(folder: &str) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("attach_pid") || name.contains("contend")).collect()
}

/// The result of one trace.
#[derive(Default)]
struct Found {
    /// The problems with it: a line each.
    faults: Vec<String>,
    /// Whether the process was requested to open a socket for thread dumps.
    is_asked: bool,
}

/// Traces a process of a kind.
fn found(program: &Path, folder: &Path, kind: &str, library: Option<&Path>) -> Found {
    let process = Process::start(program, folder, kind, library);
    let pid = process.child.id().to_string();
    let roots = process.folder.join("roots");
    let (before, output, written) = (contents(&roots), process.folder.join("output"), process.folder.join("calls"));
    fs::create_dir(&output).unwrap();
    let mut contend = calls::watched(&written).expect("strace was found");
    contend.args(["trace", "--seconds", "1", "--format", "json", "--output"]);
    contend.arg(output.join("record.json")).args(["--pid", &pid]).env("CONTEND_ARCHIVE", "").stdin(Stdio::null());
    let said = contend.output().unwrap();
    let mut faults = Vec::new();
    match said.status.code() {
        // A process that cannot be traced is an error with its reason.
        Some(0) => {}
        Some(1 | 2) => {
            let stderr = String::from_utf8_lossy(&said.stderr).into_owned();
            faults.extend((!stderr.contains("error: ")).then_some(stderr));
        }
        code => faults.push(format!("ended with {code:?}: {}", String::from_utf8_lossy(&said.stderr))),
    }
    faults.extend((contents(&roots) != before).then(|| format!("{before:?}\n{:?}", contents(&roots))));
    let is_planted = kind == "machine-with-a-linked-request" || kind == "machine-with-a-directory";
    let request = PathBuf::from(format!("/tmp/.attach_pid{pid}"));
    faults.extend((request.symlink_metadata().is_ok() != is_planted).then(|| format!("{request:?}")));
    let _ = fs::remove_file(&request).or_else(|_| fs::remove_dir(&request));
    let text = String::from_utf8_lossy(&fs::read(&written).unwrap()).into_owned();
    // No kind is a Go program, whose code would be probed.
    let (pid, asks) = (process.child.id(), kind.starts_with("machine") || kind == "mount-namespace");
    faults.extend(calls::forbidden(&text, &Allowed { output: &output, pid, asks, probes: false }));
    process.end("-KILL");
    let faults = faults.into_iter().map(|fault| format!("{kind}: {fault}")).collect();
    Found { faults, is_asked: text.contains("SIGQUIT") }
}

#[test]
fn hostile_and_odd_processes_change_nothing_by_their_trace() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root");
    }
    if calls::watched(Path::new("/dev/null")).is_none() {
        return;
    }
    let programs = Programs::new();
    let Some(program) = programs.compiled("hostile", &[]) else { return };
    held::reports();
    let folder = program.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let library = library();
    let witness = Process::start(&program, folder, "witness", None);
    let before = shared("/tmp");
    let mut others = code::others();
    others.insert(code::process(witness.child.id()));
    let (first, is_over) = (Code::of(&others), AtomicBool::new(false));
    let (kinds, all) = (Mutex::new(KINDS.iter()), Mutex::new(Vec::new()));
    let (looks, changes) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut looks, mut changes) = (0, Vec::new());
            while !is_over.load(Relaxed) || looks == 0 {
                changes.extend(Code::of(&others).changes_since(&first));
                looks += 1;
            }
            (looks, changes)
        });
        let traces = [(); 4].map(|()| {
            scope.spawn(|| {
                loop {
                    let Some(kind) = kinds.lock().unwrap().next() else { break };
                    let found = found(&program, folder, kind, library.as_deref());
                    all.lock().unwrap().push(found);
                }
            })
        });
        traces.into_iter().for_each(|trace| trace.join().unwrap());
        is_over.store(true, Relaxed);
        watch.join().unwrap()
    });
    let (all, witnessed) = (all.into_inner().unwrap(), witness.end("-TERM"));
    let (asked, (others, megabytes)) =
        (all.iter().filter(|one| one.is_asked).count(), (first.processes(), first.bytes >> 20));
    println!("seen: {} kinds, {asked} requested to open a socket", all.len());
    println!(
        "seen: code of {others} other processes, {megabytes} MB, compared {looks} times: {} changes",
        changes.len()
    );
    let faults: Vec<String> = all.into_iter().flat_map(|one| one.faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(witnessed, Some(0), "the code of a process changed that was not traced");
    assert!(changes.is_empty(), "{changes:#?}");
    assert!(library.is_none() || asked > 0, "no process was requested to open its socket");
    let left: Vec<String> = shared("/tmp").difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}
