//! The experiments that the server may start: those of its list, one at a time, each in a separate process.

use super::limits::{DRAIN, LINE_BYTES};
use super::live::Live;
use crate::sibling;
use anyhow::Context;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::timeout;

pub struct Experiments {
    pub list: Vec<Vec<String>>,
    pub every: Option<Duration>,
    /// The process that runs, if any.
    running: Mutex<Option<u32>>,
    ended: Notify,
}

/// The result of a request to start one.
pub enum Start {
    Started,
    Busy,
    NotListed,
}

impl Experiments {
    pub fn new(list: Vec<Vec<String>>, every: Option<Duration>) -> Self {
        Self { list, every, running: Mutex::default(), ended: Notify::new() }
    }

    /// Returns their calls, as a user would type them.
    pub fn calls(&self) -> Vec<String> {
        self.list.iter().map(|words| words.join(" ")).collect()
    }

    /// Starts the experiment with this call, if nothing else runs; its output is sent to all listeners.
    ///
    /// # Errors
    /// contend cannot be run.
    pub fn start(self: &Arc<Self>, call: &str, live: &Arc<Live>, archive: &Path) -> anyhow::Result<Start> {
        let Some(words) = self.list.iter().find(|words| words.join(" ") == call) else { return Ok(Start::NotListed) };
        let mut running = self.running();
        if running.is_some() {
            return Ok(Start::Busy);
        }
        let mut command = Command::new(sibling::contend()?);
        command.args(words).env("CONTEND_ARCHIVE", archive).env("NO_COLOR", "1").kill_on_drop(true);
        // The child receives a Ctrl-C at the server's terminal through the server, once.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        end_with_this_process(&mut command);
        let child = command.spawn().context("cannot run contend")?;
        *running = child.id();
        drop(running);
        live.begin(&json!({ "run": call }));
        let (all, live, call) = (Arc::clone(self), Arc::clone(live), call.to_owned());
        tokio::spawn(async move {
            let end = watch(child, &live, &call).await;
            *all.running() = None;
            live.finish(&end);
            all.ended.notify_waiters();
        });
        Ok(Start::Started)
    }

    pub fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Waits until nothing runs.
    pub async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            if !self.is_running() {
                return;
            }
            ended.await;
        }
    }

    /// Requests the run to end, as a Ctrl-C does, so that its record is stored; kills it if it does not.
    pub async fn stop(&self) {
        for signal in [Signal::TERM, Signal::KILL] {
            let process = *self.running();
            let Some(process) = process.and_then(|id| Pid::from_raw(id as i32)) else { return };
            // The child leads its group: programs that it started receive the signal like a Ctrl-C.
            let _ = kill_process_group(process, signal);
            let _ = timeout(DRAIN, self.idle()).await;
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<u32>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the kernel send the experiment a signal when this process is gone, for example killed.
///
/// Nothing else would stop it, and the next server would measure while it still runs.
///
/// The signal is sent when the *thread* that started the child ends, and the threads of the runtime live as long as the
/// process.
fn end_with_this_process(command: &mut Command) {
    let process = getpid();
    let hear = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // If the server died before that call, another process is the parent now, and no signal would be sent.
        if getppid() == Some(process) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls; an error without a message allocates nothing,
    // and the closure takes no lock.
    unsafe { command.pre_exec(hear) };
}

/// Sends its output until it ends; returns how it ended.
async fn watch(mut child: Child, live: &Arc<Live>, call: &str) -> Value {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let line = |text: &str| live.send("line", &json!({ "run": call, "text": text }));
    let mut record = None;
    let note = |text: &str| {
        record = text.strip_prefix("archived as ").map(str::to_owned).or_else(|| record.take());
        live.send("note", &json!({ "run": call, "text": text }));
    };
    tokio::join!(lines(stdout, line), lines(stderr, note));
    let status = child.wait().await;
    json!({ "run": call, "status": status.ok().and_then(|status| status.code()), "record": record })
}

/// Passes on each line, cut where it is too long.
async fn lines(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&str)) {
    let Some(mut pipe) = pipe else { return };
    let (mut line, mut bytes) = (Vec::new(), [0; 4_096]);
    while let Ok(length @ 1..) = pipe.read(&mut bytes).await {
        for byte in &bytes[..length] {
            match byte {
                b'\n' => {
                    take(&String::from_utf8_lossy(&line));
                    line.clear();
                }
                _ if line.len() < LINE_BYTES => line.push(*byte),
                _ => {}
            }
        }
    }
    if !line.is_empty() {
        take(&String::from_utf8_lossy(&line));
    }
}
