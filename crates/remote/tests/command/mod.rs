//! Runs of the real programs.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod http;
pub mod proxy;

use archive::{Archive, Build, Manifest, PortableRecord, Summary};
use record::Record;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Returns how often a test repeats something: `normally`, or the value of the variable.
pub fn times(variable: &str, normally: usize) -> usize {
    std::env::var(variable).ok().map_or(normally, |text| text.parse().unwrap())
}

/// A directory with an archive.
pub struct Place {
    pub folder: TempDir,
    pub archive: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { archive: folder.path().join("archive.git"), folder }
    }

    /// Creates an archive with this number of records.
    pub fn with(records: usize) -> Self {
        let place = Self::new();
        let archive = place.open();
        (0..records).for_each(|seed| drop(keep(&archive, &record(seed as u64))));
        place
    }

    pub fn open(&self) -> Archive {
        Archive::open_or_create(&self.archive).unwrap()
    }

    pub fn ids(&self) -> Vec<String> {
        self.open().listing().unwrap().entries.into_iter().map(|entry| entry.id).collect()
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until no process works on the archive: a Git that a killed program started lives a little longer, and
    /// packs files that a check reads at the same moment.
    pub fn quiet(&self) {
        let mark = fs::File::open(self.archive.join("contend-archive")).unwrap();
        let alone = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        waited_for(|| rustix::fs::flock(&mark, alone).ok());
    }

    /// Asserts that every hash is right, and that this number of records is there.
    pub fn verify(&self) -> usize {
        let (records, wrong) = self.open().verify(|_, _| Ok(())).unwrap();
        assert_eq!(wrong, Vec::<String>::new());
        records
    }
}

/// Returns a record as a run with this seed would produce it.
pub fn record(seed: u64) -> Value {
    record_of("noise", seed)
}

pub fn record_of(experiment: &str, seed: u64) -> Value {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../contend/tests/records/{experiment}.json"));
    let mut record: Value = serde_json::from_slice(&fs::read(stored).unwrap()).unwrap();
    record["environment"]["seed"] = json!(seed);
    record
}

/// Stores a record, and returns its name.
pub fn keep(archive: &Archive, record: &Value) -> String {
    keep_from("one", archive, record)
}

/// Stores a record of this host, and returns its name.
pub fn keep_from(host: &str, archive: &Archive, record: &Value) -> String {
    let build = Build { revision: None, compiler: None, profile: None, target: None };
    let manifest = Manifest { host: host.into(), ..Manifest::of_this_run(build, |_| None) };
    let typed: Record<Value, Value> = serde_json::from_value(record.clone()).unwrap();
    let summary = Summary::of(&typed, &manifest, typed.environment.seed + 1);
    archive.append((record.to_string() + "\n").as_bytes(), &manifest, &summary).unwrap()
}

/// Returns a record that is not in any archive of the tests.
pub fn portable(seed: u64) -> PortableRecord {
    let place = Place::new();
    let archive = place.open();
    let id = keep(&archive, &record(seed));
    archive.portable(&id).unwrap()
}

/// A running server, which ends with the test.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    pub first_lines: Vec<String>,
}

pub fn serve_command(archive: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend-serve"));
    command.arg("--archive").arg(archive).args(flags).stdin(Stdio::null());
    if !flags.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command
}

impl Server {
    pub fn start(archive: &Path, flags: &[&str]) -> Self {
        let mut command = serve_command(archive, flags);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says where it listens").unwrap();
        let (_, address) = first.split_once("://").unwrap();
        let address = address.parse().unwrap();
        let is_encrypted = first.contains("https");
        let mut first_lines = vec![first];
        if is_encrypted {
            first_lines.push(lines.next().unwrap().unwrap());
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, first_lines }
    }

    pub fn fingerprint(&self) -> String {
        self.first_lines[1].strip_prefix("certificate ").unwrap().to_owned()
    }

    pub fn url(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Returns the peak memory of the server and its children so far, in KiB.
    pub fn most_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Requests the server to end, and returns its exit status.
    pub fn end(mut self) -> Option<i32> {
        rustix::process::kill_process(self.pid(), rustix::process::Signal::TERM).unwrap();
        waited_for(|| self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the message of a server that does not start.
pub fn refused(archive: &Path, flags: &[&str], status: i32) -> String {
    ended(serve_command(archive, flags).output().unwrap(), status)
}

pub fn fetch_command(archive: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend-fetch"));
    command.arg("--archive").arg(archive).args(arguments).stdin(Stdio::null());
    command
}

/// Returns the output of `contend fetch`, which must succeed.
pub fn fetched(archive: &Path, arguments: &[&str]) -> String {
    let output = fetch_command(archive, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the text on stderr; the run must end with this status.
pub fn not_fetched(archive: &Path, arguments: &[&str], status: i32) -> String {
    ended(fetch_command(archive, arguments).output().unwrap(), status)
}

fn ended(output: Output, status: i32) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

/// Waits half a minute until `look` finds a value.
pub fn waited_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not come about")
}

/// Returns all bytes of a stream until it ends or breaks.
pub fn rest(stream: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}
