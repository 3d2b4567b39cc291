//! An observed run: its stderr is a terminal, on which the progress names the current step.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub struct Watched {
    child: Running,
    terminal_text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

/// A child that is killed when its test fails.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The result of a run.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The time from the signal, or the call, to its end.
    pub took: Duration,
}

impl Watched {
    pub fn start(arguments: &[&str]) -> Self {
        super::held::reports();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_contend"))
            .env("CONTEND_ARCHIVE", "")
            .env("TERM", "xterm")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(slave)
            .spawn()
            .expect("the binary starts");
        let terminal_text = Arc::new(Mutex::new(String::new()));
        let reader = std::thread::spawn({
            let terminal_text = Arc::clone(&terminal_text);
            move || listen(&mut File::from(master), &terminal_text)
        });
        Self { child: Running(Some(child)), terminal_text, reader }
    }

    pub fn id(&self) -> u32 {
        self.child.0.as_ref().expect("it was not waited for").id()
    }

    /// Waits until the progress has printed this.
    pub fn until(&self, word: &str) {
        // A survey that others leave a tenth of the CPUs takes minutes.
        for _ in 0..6_000 {
            if self.terminal_text.lock().unwrap().contains(word) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("never said {word:?}, but {}", self.terminal_text.lock().unwrap());
    }

    /// Sends the signal and waits for the end.
    pub fn interrupt(self, signal: rustix::process::Signal) -> Ended {
        let child = self.child.0.as_ref().expect("it was not waited for");
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("it still runs");
        self.ended()
    }

    /// Waits for its end.
    pub fn ended(mut self) -> Ended {
        let began = Instant::now();
        let child = self.child.0.take().expect("it was not waited for");
        let output = child.wait_with_output().expect("it ends");
        let took = began.elapsed();
        self.reader.join().unwrap();
        let stderr = self.terminal_text.lock().unwrap().clone();
        Ended { status: output.status, stdout: output.stdout, stderr, took }
    }
}

/// Reads the terminal; one that the last writer has left returns an error.
fn listen(terminal: &mut File, terminal_text: &Mutex<String>) {
    let mut bytes = [0; 4_096];
    while let Ok(length @ 1..) = terminal.read(&mut bytes) {
        terminal_text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
}
