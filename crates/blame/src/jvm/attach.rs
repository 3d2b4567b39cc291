//! The attach interface of HotSpot: a socket in the directory for temporary files of the process.
//!
//! The socket is there once the first client has requested it: the client creates a file, and sends SIGQUIT. A virtual
//! machine that finds the file opens the socket; one that does not find it prints a thread dump to its output, and one
//! that has not yet installed its handler would be killed. So the signal is sent only where the process catches it and
//! the interface is not turned off.

use std::fs::{File, OpenOptions, read, read_to_string};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The way to a virtual machine.
pub struct Access {
    process: u32,
    /// Its number in its own PID namespace.
    own_number: u32,
    was_requested: bool,
}

/// A reason why there is no dump.
pub enum Refusal {
    /// The virtual machine has only just started.
    NotYet,
    Never(String),
}

/// Time limit for the socket to appear, and for an answer to come.
const PATIENCE: Duration = Duration::from_secs(5);
const LARGEST: u64 = 16 << 20;

impl Access {
    pub fn new(process: u32) -> Self {
        let status = read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let own_number = numbers.and_then(|line| line.split_ascii_whitespace().last()?.parse().ok()).unwrap_or(process);
        Self { process, own_number, was_requested: false }
    }

    /// Requests a dump of all threads.
    pub fn threads(&mut self) -> Result<String, Refusal> {
        let mut stream = self.connect()?;
        let broken = |error: std::io::Error| Refusal::Never(crate::names::message(&error));
        stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
        // The version of the protocol, the command, and three arguments.
        stream.write_all(b"1\0threaddump\0\0\0\0").map_err(broken)?;
        let mut answer = Vec::new();
        stream.take(LARGEST).read_to_end(&mut answer).map_err(broken)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        match answer.split_once('\n') {
            Some(("0", text)) => Ok(text.to_owned()),
            _ => Err(Refusal::Never("the virtual machine refused the thread dump".into())),
        }
    }

    fn connect(&mut self) -> Result<UnixStream, Refusal> {
        let socket = self.temporary(".java_pid");
        if let Ok(stream) = UnixStream::connect(&socket) {
            return Ok(stream);
        }
        if self.was_requested {
            return Err(Refusal::Never("the virtual machine closed its attach interface".into()));
        }
        self.check()?;
        self.was_requested = true;
        let _file = Request::create(self.process, self.own_number)?;
        // SAFETY: the call takes no pointers.
        unsafe { libc::kill(self.process as libc::pid_t, libc::SIGQUIT) };
        let until = Instant::now() + PATIENCE;
        loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => return Ok(stream),
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                Err(error) => {
                    let why = crate::names::message(&error);
                    return Err(Refusal::Never(format!("no answer at {}: {why}", socket.display())));
                }
            }
        }
    }

    fn temporary(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/tmp/{name}{}", self.process, self.own_number))
    }

    /// Checks that the signal opens the socket, and does no harm.
    fn check(&self) -> Result<(), Refusal> {
        let process = self.process;
        let status = read_to_string(format!("/proc/{process}/status"));
        let status = status.map_err(|error| Refusal::Never(crate::names::message(&error)))?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        let words = read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let has = |word: &[u8]| words.split(|byte| *byte == 0).any(|other| other == word);
        if has(b"-XX:+DisableAttachMechanism") {
            return Err(Refusal::Never("it runs with -XX:+DisableAttachMechanism".into()));
        }
        if has(b"-Xrs") {
            return Err(Refusal::Never("it runs with -Xrs".into()));
        }
        if caught & 1 << (libc::SIGQUIT - 1) == 0 { Err(Refusal::NotYet) } else { Ok(()) }
    }
}

/// The file that requests the socket, as long as it is needed.
struct Request(PathBuf);

impl Request {
    fn create(process: u32, own_number: u32) -> Result<Self, Refusal> {
        let places = [format!("/proc/{process}/cwd"), format!("/proc/{process}/root/tmp")];
        let mut why = String::new();
        for place in places {
            let path = PathBuf::from(place).join(format!(".attach_pid{own_number}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Self(path).owned_by(process, &file),
                Err(error) => why = crate::names::message(&error),
            }
        }
        Err(Refusal::Never(format!("cannot create .attach_pid{own_number} in its directory or in /tmp: {why}")))
    }

    /// Gives the file the owner of the process, since the virtual machine trusts only files of the user that runs it.
    fn owned_by(self, process: u32, file: &File) -> Result<Self, Refusal> {
        use std::os::unix::fs::MetadataExt;
        let Ok(owner) = std::fs::metadata(format!("/proc/{process}")) else {
            return Err(Refusal::Never("the process has ended".into()));
        };
        if rustix::process::geteuid().is_root() {
            let _ = std::os::unix::fs::fchown(file, Some(owner.uid()), Some(owner.gid()));
        }
        Ok(self)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
