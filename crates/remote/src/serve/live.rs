//! What runs here, as it runs: events that all who listen are told, and what they missed when they come in its midst.

use bytes::Bytes;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;

/// How many events one may be behind before some are left out for them.
const BEHIND: usize = 256;
/// What whoever comes later is told of what runs, its beginning first.
const TOLD: usize = 64;
/// Something is sent so often, so that a connection that is gone is noticed.
const QUIET: Duration = Duration::from_secs(15);

pub struct Live(Mutex<Feed>);

struct Feed {
    /// `None` when there is nothing more to come.
    said: Option<broadcast::Sender<Bytes>>,
    beginning: Option<Bytes>,
    lately: VecDeque<Bytes>,
}

impl Default for Live {
    fn default() -> Self {
        let said = Some(broadcast::Sender::new(BEHIND));
        Self(Mutex::new(Feed { said, beginning: None, lately: VecDeque::new() }))
    }
}

impl Live {
    /// Something begins: what was said before is nobody's any more.
    pub fn begin(&self, data: &Value) {
        let event = event("started", data);
        let mut feed = self.feed();
        feed.lately.clear();
        feed.beginning = Some(event.clone());
        tell(&feed, event);
    }

    /// Something is said of it.
    pub fn say(&self, name: &str, data: &Value) {
        let event = event(name, data);
        let mut feed = self.feed();
        if feed.lately.len() == TOLD {
            feed.lately.pop_front();
        }
        feed.lately.push_back(event.clone());
        tell(&feed, event);
    }

    /// What ran has ended: whoever comes later is told that nothing runs.
    pub fn finish(&self, data: &Value) {
        let mut feed = self.feed();
        feed.beginning = None;
        feed.lately.clear();
        tell(&feed, event("ended", data));
    }

    /// There is nothing more to come.
    pub fn end(&self) {
        self.feed().said = None;
    }

    /// What has been said of what runs, and what will be; `nothing` is said where nothing runs.
    pub fn listen(self: &Arc<Self>, nothing: &Value) -> mpsc::Receiver<Bytes> {
        let (mine, taken) = mpsc::channel(8);
        let feed = self.feed();
        let before: Vec<Bytes> = match &feed.beginning {
            None => vec![event("idle", nothing)],
            Some(beginning) => [beginning].into_iter().chain(&feed.lately).cloned().collect(),
        };
        let coming = feed.said.as_ref().map(broadcast::Sender::subscribe);
        drop(feed);
        tokio::spawn(async move {
            for event in before {
                if mine.send(event).await.is_err() {
                    return;
                }
            }
            let Some(mut coming) = coming else { return };
            while let Some(event) = next(&mut coming).await {
                if mine.send(event).await.is_err() {
                    return;
                }
            }
        });
        taken
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

fn tell(feed: &Feed, event: Bytes) {
    // That nobody listens is no failure.
    let _ = feed.said.as_ref().map(|said| said.send(event));
}

/// JSON has no line's end in it, so an event's data is one line.
fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
