//! The system calls of contend that change something outside of it, as strace prints them, and which of them are allowed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The calls that can change a file, a process, or the memory of another one. `%` in a name is none of them.
const CALLS: &str = "trace=open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,unlink,unlinkat,rmdir,rename,renameat,\
                     renameat2,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,\
                     utimensat,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,bind,mount,umount2,\
                     kill,tkill,tgkill,rt_sigqueueinfo,rt_tgsigqueueinfo,pidfd_send_signal,ptrace,process_vm_writev,\
                     process_madvise,move_pages,migrate_pages,prlimit64,setpriority,ioprio_set,sched_setaffinity,\
                     sched_setparam,sched_setscheduler,sched_setattr,perf_event_open,bpf";

/// Returns contend under strace, which writes the calls to this file; `None`, with a message, without strace.
pub fn watched(calls: &Path) -> Option<Command> {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: needs strace");
        return None;
    }
    let mut command = Command::new("timeout");
    // A trace of one second that takes longer hangs.
    command.args(["--signal=KILL", "40", "strace", "-f", "-qq", "-y", "-s", "300", "-e", CALLS, "-o"]).arg(calls);
    command.arg(env!("CARGO_BIN_EXE_contend"));
    Some(command)
}

/// The changes that a trace may make.
pub struct Allowed<'a> {
    /// The directory of its output.
    pub output: &'a Path,
    pub pid: u32,
    /// Whether a thread dump of the process may be requested: by a file, and by SIGQUIT.
    pub asks: bool,
    /// Whether code of the process may be probed.
    pub probes: bool,
}

/// A call, as strace prints it.
struct Call<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Call<'_> {
    /// Returns the file names among the arguments, each in its directory.
    fn files(&self) -> Vec<PathBuf> {
        let parts: Vec<&str> = self.arguments.split('"').collect();
        // The descriptor of a directory is in front of a name, with its path: `3</tmp>, "name"`.
        let folder =
            |before: &str| before.rsplit_once('<').and_then(|(_, path)| Some(path.split_once('>')?.0.to_owned()));
        let pairs = parts.chunks_exact(2).map(|pair| (folder(pair[0]), pair[1]));
        pairs.map(|(folder, name)| Path::new(&folder.unwrap_or_default()).join(name)).collect()
    }

    /// Returns an argument, which is a number.
    fn number(&self, place: usize) -> Option<i64> {
        let text = self.arguments.split([',', ')']).nth(place)?.trim();
        text.split(['<', ' ']).next()?.parse().ok()
    }
}

/// Returns the calls that are not allowed: a line each. `text` is what strace wrote.
pub fn forbidden(text: &str, allowed: &Allowed<'_>) -> Vec<String> {
    // strace begins a line with the number of the calling thread, in columns of a fixed width.
    let lines = || text.lines().filter_map(|line| line.trim_start().split_once(' '));
    let own: BTreeSet<i64> = lines().filter_map(|(thread, _)| thread.parse().ok()).chain([0]).collect();
    let is_forbidden = |call: &str| {
        let Some((name, arguments)) = call.trim_start().split_once('(') else { return false };
        // A refused call changes nothing; the second line of a call that another thread interrupted has its result only.
        let is_done = !arguments.contains(") = -1 ") && !call.trim_start().starts_with("<... ");
        is_done && !allowed.permits(&Call { name, arguments }, &own)
    };
    lines().filter(|(_, call)| is_forbidden(call)).map(|(thread, call)| format!("{thread} {call}")).collect()
}

impl Allowed<'_> {
    fn permits(&self, call: &Call<'_>, own: &BTreeSet<i64>) -> bool {
        let has = |word: &str| call.arguments.contains(word);
        let is_own = |place: usize| call.number(place).is_some_and(|thread| own.contains(&thread));
        match call.name {
            "open" | "openat" | "openat2" | "creat" => {
                let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| has(flag));
                // A file without a name is in no directory.
                !writes && call.name != "creat" || has("O_TMPFILE") || self.permits_files(call)
            }
            // Signal 0 asks whether a process exists.
            "kill" | "tkill" => is_own(0) || call.number(1) == Some(0) || self.is_request(call, call.number(0)),
            "tgkill" => is_own(0) || call.number(2) == Some(0),
            "pidfd_send_signal" => call.number(1) == Some(0) || (self.asks && has(", SIGQUIT, ")),
            "prlimit64" | "sched_setaffinity" | "sched_setparam" | "sched_setscheduler" | "sched_setattr" => is_own(0),
            "setpriority" | "ioprio_set" => is_own(1),
            // Counters and tracepoints change no code; a breakpoint or a probe does.
            "perf_event_open" => {
                let changes = has("PERF_TYPE_BREAKPOINT") || has("PERF_TYPE_???");
                let thread =
                    call.arguments.split_once("}, ").and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
                !changes || (self.probes && thread == Some(i64::from(self.pid)))
            }
            // The program that reads the probes is loaded, and found by no other process.
            "bpf" => self.probes && !has("BPF_OBJ_PIN"),
            // A name that begins with @ is in no directory.
            "bind" => !has("AF_UNIX") || has("sun_path=@"),
            "ptrace" | "process_vm_writev" | "process_madvise" | "move_pages" | "migrate_pages" => false,
            "mount" | "umount2" | "rt_sigqueueinfo" | "rt_tgsigqueueinfo" => false,
            _ => self.permits_files(call),
        }
    }

    fn is_request(&self, call: &Call<'_>, pid: Option<i64>) -> bool {
        self.asks && pid == Some(i64::from(self.pid)) && call.arguments.contains("SIGQUIT")
    }

    /// Returns whether the files that a call names may be changed.
    fn permits_files(&self, call: &Call<'_>) -> bool {
        // The score of a supervisor, which the kernel ends last.
        const OWN: [&str; 3] = ["/dev/null", "/dev/tty", "/proc/self/oom_score_adj"];
        let request = format!(".attach_pid{}", self.pid);
        let files = call.files();
        let is_allowed = |file: &PathBuf| {
            let is_own = OWN.iter().any(|own| file == Path::new(own)) || file.starts_with(self.output);
            is_own || (self.asks && file.file_name().is_some_and(|name| name.to_str() == Some(&request)))
        };
        // A descriptor alone is that of a file which was opened.
        (files.is_empty() && call.name.starts_with('f')) || (!files.is_empty() && files.iter().all(is_allowed))
    }
}

#[test]
fn a_call_is_allowed_by_its_file_and_process() {
    let allowed = Allowed { output: Path::new("/out"), pid: 12, asks: true, probes: false };
    let text = "7 openat(3</out>, \".contend-7-0\", O_WRONLY|O_CREAT, 0666) = 4</out/.contend-7-0>
7 openat(AT_FDCWD</tmp>, \"x\", O_WRONLY|O_CREAT, 0666) = 4</tmp/x>
7 openat(AT_FDCWD</tmp>, \"x\", O_WRONLY|O_CREAT, 0666) = -1 EACCES (Permission denied)
7 openat(AT_FDCWD</tmp>, \"/etc/hosts\", O_RDONLY) = 4</etc/hosts>
7 renameat(3</out>, \".contend-7-1\", 3</out>, \"record.json\") = 0
7 renameat(3</out>, \".contend-7-1\", 3</tmp>, \"record.json\") = 0
7 unlinkat(5</tmp>, \".attach_pid12\", 0) = 0
7 unlinkat(5</tmp>, \".attach_pid13\", 0) = 0
7 kill(12, SIGQUIT) = 0
7 kill(12, SIGTERM) = 0
7 kill(13, SIGQUIT) = 0
8 kill(7, SIGTERM) = 0
7 perf_event_open({type=PERF_TYPE_TRACEPOINT, size=0x88}, -1, 0, -1, 0) = 5
7 perf_event_open({type=0x8 /* PERF_TYPE_??? */, size=0x88}, -1, 0, -1, 0) = 5
7 ptrace(PTRACE_SEIZE, 12, NULL, 0) = 0";
    let found = forbidden(text, &allowed);
    let wanted = [1, 5, 7, 9, 10, 13, 14].map(|line| text.lines().nth(line).unwrap());
    assert_eq!(found, wanted);
    let probing = Allowed { probes: true, ..allowed };
    let probe =
        |pid: u32| format!("7 perf_event_open({{type=0x8 /* PERF_TYPE_??? */, size=0x88}}, {pid}, -1, -1, 0) = 5");
    assert_eq!([12, 13].map(|pid| forbidden(&probe(pid), &probing).len()), [0, 1]);
}
