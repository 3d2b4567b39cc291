//! The experiments that clients may start, and the feed of their output.

use super::body::Body;
use super::failure::Failure;
use super::push::content;
use super::runner::Start;
use super::state::State;
use crate::exchange::{EVENTS, JSON};
use harness::output;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use tokio::time::{MissedTickBehavior, interval};

/// The maximum size of a request to start one.
const WISH_BYTES: usize = 4_096;

/// The experiment to start: its call, as in the server's list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartRequest {
    run: String,
}

/// Answers with the feed of the current run.
pub fn listen(state: &Arc<State>) -> Result<Response<Body>, Failure> {
    let Ok(place) = Arc::clone(&state.listeners).try_acquire_owned() else { return Err(Failure::busy()) };
    let events = state.live.listen(&json!({ "list": state.experiments.calls() }));
    let mut response = Response::new(Body::stream(events, place));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    Ok(response)
}

pub async fn start(state: &Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    if state.experiments.list.is_empty() {
        let why = "this server does not start experiments; it was started without --run";
        return Err(Failure::new(StatusCode::FORBIDDEN, why));
    }
    let sent = content(request, WISH_BYTES).await?;
    let wish: StartRequest = serde_json::from_slice(&sent).map_err(|error| {
        let why = format!("not a valid request; example: {{\"run\": \"noise --seconds 10\"}}: {error}");
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    })?;
    let started = state.experiments.start(&wish.run, &state.live, state.archive.folder());
    match started.map_err(|error| Failure::new(StatusCode::NOT_IMPLEMENTED, format!("{error:#}")))? {
        Start::Started => {
            let answer = json!({ "run": wish.run }).to_string().into_bytes();
            let mut response = state.room(answer)?.into_response(JSON);
            *response.status_mut() = StatusCode::ACCEPTED;
            Ok(response)
        }
        Start::Busy => {
            Err(Failure::new(StatusCode::CONFLICT, "another experiment is running; only one runs at a time"))
        }
        Start::NotListed => {
            let why = format!("not an experiment of this server; allowed: {}", state.experiments.calls().join("; "));
            Err(Failure::new(StatusCode::FORBIDDEN, why))
        }
    }
}

/// Starts the experiments of the list one after another, as long as the server runs; one that is due while another runs
/// waits for its end.
pub async fn in_turn(state: Arc<State>) {
    let Some(every) = state.experiments.every else { return };
    let mut turns = interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for call in state.experiments.calls().iter().cycle() {
        turns.tick().await;
        state.experiments.idle().await;
        if let Err(error) = state.experiments.start(call, &state.live, state.archive.folder()) {
            output::eprint_line(&format!("error: {call}: {error:#}"));
        }
    }
}
