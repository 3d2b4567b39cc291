//! `contend trace --pid` as root, on hostile and odd processes of another user (`tests/trace/hostile.c`): nothing outside of
//! its output is created, changed or removed, and no code of any process changes. `strace` is the witness of its calls.

use crate::command::held;
use crate::programs::Programs;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

const NOBODY: u32 = 65_534;
/// A trace of one second that takes longer hangs.
const LIMIT: &str = "40";

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

/// The calls that change something outside of the calling process.
const CALLS: &str = "trace=open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,unlink,unlinkat,rmdir,rename,renameat,\
                     renameat2,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,\
                     kill,tkill,tgkill,pidfd_send_signal,ptrace,process_vm_writev,perf_event_open";

/// A process of a kind, with the directories that it knows.
struct Process {
    child: Child,
    folder: PathBuf,
}

impl Process {
    /// Starts it, and waits until it is what its kind says.
    fn start(program: &Path, folder: &Path, kind: &str) -> Self {
        let folder = folder.join(kind);
        let (own, roots) = (folder.join("own"), folder.join("roots"));
        [&own, &roots].iter().for_each(|directory| fs::create_dir_all(directory).unwrap());
        fs::write(roots.join("secret"), "secret").unwrap();
        fs::set_permissions(roots.join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
        // Another name of the same file, which the process may remove.
        let name = own.join("program");
        fs::hard_link(program, &name).unwrap();
        let mut child = Command::new(name).arg(kind).args([own, roots]).stdout(Stdio::piped()).spawn().unwrap();
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

/// Traces a process, and returns the problems with that.
fn faults(program: &Path, folder: &Path, kind: &str) -> Vec<String> {
    let process = Process::start(program, folder, kind);
    let pid = process.child.id().to_string();
    let roots = process.folder.join("roots");
    let (before, output, calls) = (contents(&roots), process.folder.join("output"), process.folder.join("calls"));
    fs::create_dir(&output).unwrap();
    let mut contend = Command::new("timeout");
    contend.args(["--signal=KILL", LIMIT, "strace", "-f", "-qq", "-s", "200", "-e", CALLS, "-o"]).arg(&calls);
    contend.arg(env!("CARGO_BIN_EXE_contend")).args(["trace", "--seconds", "1", "--format", "json", "--output"]);
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
    let is_request =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("attach_pid"));
    let planted = kind == "machine-with-a-linked-request" || kind == "machine-with-a-directory";
    let left: Vec<PathBuf> =
        contents(&process.folder).keys().filter(is_request).filter(|_| !planted).cloned().collect();
    faults.extend((!left.is_empty()).then(|| format!("left: {left:?}")));
    let text = String::from_utf8_lossy(&fs::read(&calls).unwrap()).into_owned();
    faults.extend(text.lines().filter(|line| !is_allowed(line, &output, &pid)).map(str::to_owned));
    process.end("-KILL");
    faults.into_iter().map(|fault| format!("{kind}: {fault}")).collect()
}

/// Returns whether a call, as strace prints it, changes nothing but contend's own output, or was refused.
fn is_allowed(line: &str, output: &Path, pid: &str) -> bool {
    let Some((_, call)) = line.split_once(' ') else { return true };
    let call = call.trim_start();
    let Some((name, arguments)) = call.split_once('(') else { return true };
    // The second line of a call that another thread interrupted has its result only.
    if arguments.contains(" = -1 ") || call.starts_with("<... ") {
        return true;
    }
    let quoted = arguments.split('"').nth(1).unwrap_or_default();
    // A draft of the output has a name in its directory, which is held.
    let is_draft = quoted.starts_with(".contend-");
    let is_own = is_draft || quoted.starts_with(output.to_str().unwrap()) || quoted.starts_with("/proc/self/");
    // The file that requests a virtual machine to listen, made and removed with its own rights.
    let is_request = quoted.ends_with(&format!(".attach_pid{pid}")) || quoted.contains(".attach_pid");
    match name {
        "open" | "openat" | "openat2" | "creat" => {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| arguments.contains(flag));
            let is_device = ["/dev/null", "/dev/tty"].contains(&quoted);
            !writes || arguments.contains("O_TMPFILE") || is_own || is_device || is_request
        }
        "kill" | "tkill" | "tgkill" | "pidfd_send_signal" => {
            // Own threads and the supervisor are ended by other signals.
            arguments.contains(", 0)")
                || arguments.contains(", 0,")
                || !arguments.contains(pid)
                || arguments.contains("SIGQUIT")
        }
        "ptrace" | "process_vm_writev" => false,
        // A probe is for the processes that are traced: `pid` is not -1.
        "perf_event_open" => !(arguments.contains("PERF_TYPE_???") && arguments.contains("}, -1,")),
        _ => is_own || is_request,
    }
}

#[test]
fn hostile_and_odd_processes_change_nothing_by_their_trace() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root");
    }
    if Command::new("strace").arg("-V").output().is_err() {
        return println!("skipped: needs strace");
    }
    let programs = Programs::new();
    let Some(program) = programs.compiled("hostile", &[]) else { return };
    held::reports();
    let folder = program.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let witness = Process::start(&program, folder, "witness");
    let before = shared("/tmp");
    let (kinds, found) = (Mutex::new(KINDS.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(kind) = kinds.lock().unwrap().next() else { break };
                    let faults = faults(&program, folder, kind);
                    found.lock().unwrap().extend(faults);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(witness.end("-TERM"), Some(0), "the code of a process changed that was not traced");
    let left: Vec<String> = shared("/tmp").difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}
