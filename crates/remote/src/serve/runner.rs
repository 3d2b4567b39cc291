//! The experiments that the server may start: those of its list, one at a time, each in a separate process.

use super::limits::{DRAIN, LINE_BYTES};
use crate::program;
use anyhow::Context;
use bytes::Bytes;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, broadcast, mpsc};
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
        let mut command = Command::new(program::contend()?);
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

/// The number of events that a listener may lag behind before some are skipped.
const BEHIND: usize = 256;
/// The number of events that are kept for late listeners, the begin of the run first.
const TOLD: usize = 64;
/// The interval of keep-alive messages, so that a closed connection is noticed.
const QUIET: Duration = Duration::from_secs(15);

/// The current run, as a feed: events for all listeners, and the missed ones for late listeners.
pub struct Live(Mutex<Feed>);

struct Feed {
    /// The sender of events; `None` after the last one.
    sender: Option<broadcast::Sender<Bytes>>,
    beginning: Option<Bytes>,
    lately: VecDeque<Bytes>,
}

impl Default for Live {
    fn default() -> Self {
        let sender = Some(broadcast::Sender::new(BEHIND));
        Self(Mutex::new(Feed { sender, beginning: None, lately: VecDeque::new() }))
    }
}

impl Live {
    /// Begins a run: earlier events are dropped.
    pub fn begin(&self, data: &Value) {
        let event = event("started", data);
        let mut feed = self.feed();
        feed.lately.clear();
        feed.beginning = Some(event.clone());
        broadcast_event(&feed, event);
    }

    /// Sends an event of the run.
    pub fn send(&self, name: &str, data: &Value) {
        let event = event(name, data);
        let mut feed = self.feed();
        if feed.lately.len() == TOLD {
            feed.lately.pop_front();
        }
        feed.lately.push_back(event.clone());
        broadcast_event(&feed, event);
    }

    /// Ends the run: later listeners receive that nothing runs.
    pub fn finish(&self, data: &Value) {
        let mut feed = self.feed();
        feed.beginning = None;
        feed.lately.clear();
        broadcast_event(&feed, event("ended", data));
    }

    /// Ends the feed.
    pub fn end(&self) {
        self.feed().sender = None;
    }

    /// Returns the past and the future events of the current run; `nothing` is sent if nothing runs.
    pub fn listen(self: &Arc<Self>, nothing: &Value) -> mpsc::Receiver<Bytes> {
        let (listener, receiver) = mpsc::channel(8);
        let feed = self.feed();
        let before: Vec<Bytes> = match &feed.beginning {
            None => vec![event("idle", nothing)],
            Some(beginning) => [beginning].into_iter().chain(&feed.lately).cloned().collect(),
        };
        let coming = feed.sender.as_ref().map(broadcast::Sender::subscribe);
        drop(feed);
        tokio::spawn(async move {
            for event in before {
                if listener.send(event).await.is_err() {
                    return;
                }
            }
            let Some(mut coming) = coming else { return };
            while let Some(event) = next(&mut coming).await {
                if listener.send(event).await.is_err() {
                    return;
                }
            }
        });
        receiver
    }

    fn feed(&self) -> MutexGuard<'_, Feed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn next(coming: &mut broadcast::Receiver<Bytes>) -> Option<Bytes> {
    match timeout(QUIET, coming.recv()).await {
        Err(_) => Some(Bytes::from_static(b": still here\n\n")),
        Ok(Ok(event)) => Some(event),
        Ok(Err(broadcast::error::RecvError::Lagged(missed))) => {
            Some(event("missed", &serde_json::json!({ "events": missed })))
        }
        Ok(Err(broadcast::error::RecvError::Closed)) => None,
    }
}

fn broadcast_event(feed: &Feed, event: Bytes) {
    // An event without listeners is not a failure.
    let _ = feed.sender.as_ref().map(|sender| sender.send(event));
}

/// Formats an event: JSON has no line end in it, so its data are one line.
fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
