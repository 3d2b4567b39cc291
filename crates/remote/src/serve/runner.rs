//! Experiments that the server may start: those of its list, one at a time, each in a process of its own.

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
    /// The process, where one runs.
    running: Mutex<Option<u32>>,
    ended: Notify,
}

/// What came of the wish to start one.
pub enum Start {
    Started,
    Busy,
    NotListed,
}

impl Experiments {
    pub fn new(list: Vec<Vec<String>>, every: Option<Duration>) -> Self {
        Self { list, every, running: Mutex::default(), ended: Notify::new() }
    }

    /// Their calls, as one would type them.
    pub fn calls(&self) -> Vec<String> {
        self.list.iter().map(|words| words.join(" ")).collect()
    }

    /// Starts the one that is called so, if nothing else runs; what it says is told to all who listen.
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
        // A Ctrl-C at the server's terminal reaches it through the server, once.
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

    /// Asks what runs to end, as a Ctrl-C does, so that its record is kept; and kills it if it does not.
    pub async fn stop(&self) {
        for signal in [Signal::TERM, Signal::KILL] {
            let process = *self.running();
            let Some(process) = process.and_then(|id| Pid::from_raw(id as i32)) else { return };
            // It leads its group: programs that it started hear the signal as they would hear a Ctrl-C.
            let _ = kill_process_group(process, signal);
            let _ = timeout(DRAIN, self.idle()).await;
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<u32>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the kernel ask the experiment to end if this process is gone, killed perhaps: nothing else would stop it, and
/// the next server would measure while it still runs. The signal comes when the *thread* that started it ends, and
/// those of the runtime live as long as the process.
fn end_with_this_process(command: &mut Command) {
    let own = getpid();
    let hear = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // A server that died before that call is not this process's parent any more, and no signal would come.
        if getppid() == Some(own) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls; an error of a kind alone allocates nothing, and
    // the closure takes no lock.
    unsafe { command.pre_exec(hear) };
}

/// Tells what it says until it ends, and how it ended.
async fn watch(mut child: Child, live: &Arc<Live>, call: &str) -> Value {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let line = |text: &str| live.say("line", &json!({ "run": call, "text": text }));
    let mut record = None;
    let note = |text: &str| {
        record = text.strip_prefix("archived as ").map(str::to_owned).or_else(|| record.take());
        live.say("note", &json!({ "run": call, "text": text }));
    };
    tokio::join!(lines(stdout, line), lines(stderr, note));
    let status = child.wait().await;
    json!({ "run": call, "status": status.ok().and_then(|status| status.code()), "record": record })
}

/// Gives each line, cut where it is too long.
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
