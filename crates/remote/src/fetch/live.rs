//! The output of an experiment on another machine, while it runs.

use super::client::{Client, Fault, Patience, Question, piece};
use crate::exchange::{EVENTS, JSON};
use anyhow::ensure;
use harness::output;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest silence of a server, which sends something every 15 seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The maximum size of one event.
const MOST_BYTES: usize = 256 << 10;

/// The end of a run.
pub struct Ended {
    pub status: Option<i64>,
}

/// Starts `call`, if there is one, and prints the events until it ends; each line behind `before`.
///
/// # Errors
/// The host cannot be reached, or starts nothing.
pub async fn watch(
    client: &mut Client,
    listener: &mut Client,
    call: Option<&str>,
    before: &str,
) -> anyhow::Result<Ended> {
    let (mut patience, mut is_started) = (Patience::default(), call.is_none());
    loop {
        let answer = listener.ask(&Question::of("/live", EVENTS)).await;
        let mut body = match answer {
            Ok(response) => response.into_body(),
            Err(fault) => {
                patience.after(fault).await?;
                continue;
            }
        };
        // The feed is already open when the run is started, so that no event is missed.
        if let (false, Some(call)) = (is_started, call) {
            let sent = Some(json!({ "run": call }).to_string());
            let wish = Question { sent, ..Question::of("/live", JSON) };
            client.ask(&wish).await.map_err(Fault::into_error)?;
            is_started = true;
        }
        let mut coming = Vec::new();
        loop {
            match piece(&mut body, PATIENCE).await {
                Ok(Some(data)) => {
                    coming.extend_from_slice(&data);
                    ensure!(coming.len() <= MOST_BYTES, "the server sends an event without an end");
                    let read = print_events(&mut coming, before);
                    if read.events > 0 {
                        patience.gained();
                    }
                    if let Some(ended) = read.ended {
                        return Ok(ended);
                    }
                }
                Ok(None) => {
                    patience.after(Fault::broken("the server ended the stream")).await?;
                    break;
                }
                Err(fault) => {
                    patience.after(fault).await?;
                    break;
                }
            }
        }
    }
}

/// The result of reading a piece of the feed.
#[derive(Default)]
struct FeedProgress {
    /// The number of complete events of a known kind; a comment is not counted, so that a host cannot keep a connection
    /// alive with comments.
    events: usize,
    ended: Option<Ended>,
}

/// Prints the complete events, up to the one that ends the feed.
fn print_events(coming: &mut Vec<u8>, before: &str) -> FeedProgress {
    let mut read = FeedProgress::default();
    while let Some(end) = coming.windows(2).position(|pair| pair == b"\n\n") {
        let event: Vec<u8> = coming.drain(..end + 2).collect();
        let event = String::from_utf8_lossy(&event).into_owned();
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let data: Value = serde_json::from_str(field("data:")).unwrap_or_default();
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let line = |words: String| drop(output::print_piece(&format!("{before}{words}\n")));
        match field("event:") {
            "idle" => {
                let list: Vec<&str> = data["list"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let what = if list.is_empty() { "nothing".to_owned() } else { list.join("; ") };
                output::eprint_line(&format!("{before}no experiment is running; this server can start: {what}"));
            }
            "started" => line(format!("contend {}", text("run"))),
            "line" => line(text("text")),
            "note" => output::eprint_line(&format!("{before}{}", text("text"))),
            "ended" => read.ended = Some(Ended { status: data["status"].as_i64() }),
            _ => continue,
        }
        read.events += 1;
        if read.ended.is_some() {
            break;
        }
    }
    read
}
