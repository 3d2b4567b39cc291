//! Runs of the real programs, requests as bytes, and a connection that breaks.

// Each test program uses its own part of this.
#![allow(dead_code)]

use archive::{Archive, Build, Manifest, PortableRecord, Summary};
use record::Record;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};
use tempfile::TempDir;

/// The limit of memory in docs/serve.md for 1,024 connections.
pub const MOST_KIB: u64 = 512 << 10;

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

/// Returns an archive with records of several experiments from two machines, the oldest first.
pub fn varied_place() -> Place {
    let place = Place::new();
    let archive = place.open();
    let runs = [
        ("server-1", "clock"),
        ("server-1", "latency"),
        ("server-2", "latency"),
        ("server-1", "throughput"),
        ("server-2", "noise"),
        ("server-1", "trace"),
        ("server-2", "survey"),
    ];
    for (seed, (host, experiment)) in runs.into_iter().enumerate() {
        keep_from(host, &archive, &record_of(experiment, seed as u64));
    }
    place
}

/// Returns a record that is not in any archive of the tests.
pub fn portable(seed: u64) -> PortableRecord {
    let place = Place::new();
    let archive = place.open();
    let id = keep(&archive, &record(seed));
    archive.portable(&id).unwrap()
}

/// Asserts that both archives have the same records, byte for byte.
pub fn assert_same(one: &Place, other: &Place) {
    assert_eq!(one.ids(), other.ids());
    for id in one.ids() {
        assert_eq!(one.open().portable(&id).unwrap(), other.open().portable(&id).unwrap());
    }
    other.verify();
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
        Self::start_command(serve_command(archive, flags))
    }

    pub fn start_command(mut command: Command) -> Self {
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

/// A hang is one at any speed of the machine.
pub const HANGS: Duration = Duration::from_secs(300);

/// Waits until `look` finds a value.
pub fn waited_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < HANGS {
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

// Requests as bytes, also those that a library would not send.

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANGS)).unwrap();
    stream.set_write_timeout(Some(HANGS)).unwrap();
    stream
}

/// Sends these bytes and returns the whole answer; bytes that cannot be sent any more are dropped.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    rest(&mut stream)
}

/// Sends one request with these header lines, and returns its answer.
pub fn ask(address: SocketAddr, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let is_named = headers.to_lowercase().lines().any(|line| line.starts_with("host:"));
    let host = if is_named { "" } else { "host: localhost\r\n" };
    let head = format!(
        "{method} {path} HTTP/1.1\r\n{host}{headers}connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = connect(address);
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    answer(&rest(&mut stream)).unwrap_or_else(|| panic!("no answer to {method} {path}"))
}

/// Returns the head of a request that pushes a record of this length.
pub fn push_head(length: usize) -> String {
    format!(
        "POST /records HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, "GET", path, &[], b"")
}

pub fn post(address: SocketAddr, path: &str, body: &[u8]) -> Answer {
    ask(address, "POST", path, &["content-type: application/json"], body)
}

/// Parses an answer; chunks are joined.
pub fn answer(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ").or_else(|| head.strip_prefix("HTTP/1.0 "))?.get(..3)?.parse().ok()?;
    let body = bytes[end + 4..].to_vec();
    Some(Answer { status, head, body })
}

/// Reads until this word has arrived.
pub fn until(stream: &mut TcpStream, word: &str) -> String {
    let (mut received, mut bytes) = (String::new(), [0; 4_096]);
    while !received.contains(word) {
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "it ended without {word:?}: {received}");
        received += &String::from_utf8_lossy(&bytes[..length]);
    }
    received
}

pub struct Proxy {
    pub address: SocketAddr,
    breaks: Arc<AtomicUsize>,
}

impl Proxy {
    /// Creates a proxy to `server` that breaks this many times, each time after another number of bytes.
    pub fn to(server: SocketAddr, breaks: usize, after: impl Fn(usize) -> usize + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let broken = Arc::new(AtomicUsize::new(0));
        let proxy = Self { address, breaks: Arc::clone(&broken) };
        thread::spawn(move || {
            for (place, client) in listener.incoming().enumerate() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { return };
                let allowed = if place < breaks { after(place) } else { usize::MAX };
                let broken = Arc::clone(&broken);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pass(from, to, usize::MAX));
                thread::spawn(move || {
                    if pass(server, client, allowed) {
                        broken.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        proxy
    }

    /// Returns how often it broke.
    pub fn breaks(&self) -> usize {
        self.breaks.load(Ordering::Relaxed)
    }
}

/// Returns whether it was cut.
fn pass(mut from: TcpStream, mut to: TcpStream, allowed: usize) -> bool {
    let (mut left, mut bytes) = (allowed, [0; 16_384]);
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let through = length.min(left);
        if to.write_all(&bytes[..through]).is_err() {
            break;
        }
        left -= through;
        if left == 0 {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return true;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    false
}
