//! The current run, as a feed: events for all listeners, and the missed ones for late listeners.

use bytes::Bytes;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;

/// The number of events that a listener may lag behind before some are skipped.
const BEHIND: usize = 256;
/// The number of events that are kept for late listeners, the begin of the run first.
const TOLD: usize = 64;
/// The interval of keep-alive messages, so that a closed connection is noticed.
const QUIET: Duration = Duration::from_secs(15);

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
