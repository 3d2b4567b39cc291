//! The answers to requests: the list of records, one of them, its report, the metrics, and the feed of experiments; and
//! the two requests that change something: a record that a client pushes, and an experiment that a client starts.

use super::limits::{PAGE, PAGE_BYTES, PUSH, PUSH_BYTES};
use super::metrics::{CLASSIC, OPEN_METRICS, Own, classic};
use super::response::{Body, Failure, Worked};
use super::runner::Start;
use super::state::State;
use crate::exchange::{EVENTS, JSON, WHOLE};
use crate::program;
use ::archive::{Archive, PortableRecord};
use anyhow::Context;
use harness::output;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue,
    RANGE, VARY,
};
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use std::future::poll_fn;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Answers with the list of records, the oldest first.
pub async fn list_records(state: &Arc<State>) -> Result<Response<Body>, Failure> {
    let archive = state.archive.clone();
    let worked = state
        .worked(move || {
            let listing = archive.listing().map_err(|error| Failure::of(&error))?;
            output::json_line(&listing.entries).map(String::into_bytes).map_err(|error| Failure::of(&error.into()))
        })
        .await?;
    Ok(worked.into_response(JSON))
}

/// Answers with the record of this name, or the rest of it from a byte on: as it was printed, or with all objects that
/// its name is the hash of.
pub async fn send_record(
    state: &Arc<State>,
    id: String,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let is_whole = header(ACCEPT).is_some_and(|accept| accept.contains(WHOLE));
    let from = header(RANGE).and_then(from_byte);
    let archive = state.archive.clone();
    let tag = format!("\"{id}{}\"", if is_whole { "-whole" } else { "" });
    let mut worked = state
        .worked(move || {
            let portable = archive.portable(&id).map_err(|error| missing(&error))?;
            if is_whole {
                serde_json::to_vec(&portable).map_err(|error| Failure::of(&error.into()))
            } else {
                Ok(portable.record.into())
            }
        })
        .await?;
    let all = worked.content.len();
    let kind = if is_whole { WHOLE } else { JSON };
    let mut response = match from {
        Some(from) if from < all => {
            let _ = worked.content.split_to(from);
            let mut response = worked.into_response(kind);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            response.headers_mut().insert(CONTENT_RANGE, value(&format!("bytes {from}-{}/{all}", all - 1))?);
            response
        }
        Some(_) => {
            let why = format!("the range starts beyond the end: {all} bytes in all");
            return Err(Failure::new(StatusCode::RANGE_NOT_SATISFIABLE, why));
        }
        None => worked.into_response(kind),
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, value(&tag)?);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    // The name of the record is its hash, so the content never changes.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, immutable, max-age=31536000"));
    Ok(response)
}

/// Parses `bytes=N-`, the rest of a record.
///
/// Other ranges are ignored, as the standard allows.
fn from_byte(range: &str) -> Option<usize> {
    let from: usize = range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()?;
    Some(from).filter(|from| *from > 0)
}

fn value(text: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::from_str(text).map_err(|_| Failure::internal())
}

fn missing(error: &anyhow::Error) -> Failure {
    let text = format!("{error:#}");
    if text.contains("no record ") {
        return Failure::new(StatusCode::NOT_FOUND, text);
    }
    Failure::of(error)
}

/// Stores a record that a client pushes: reads it up to a limit, compares it with its name, parses it like a reader
/// would, and only then stores it.
pub async fn push(state: &Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    if !state.accepts {
        return Err(Failure::new(
            StatusCode::FORBIDDEN,
            "this server does not accept records; it was started without --accept",
        ));
    }
    let Ok(_turn) = Arc::clone(&state.pushes).try_acquire_owned() else {
        return Err(Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "other clients are sending records; try again later",
        ));
    };
    let sent = content(request, PUSH_BYTES).await?;
    let portable: PortableRecord = serde_json::from_slice(&sent).map_err(|error| {
        let why = format!("not a record with its commit and manifest: {error}");
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    })?;
    drop(sent);
    let (id, archive) = (portable.id.clone(), state.archive.clone());
    let turn = state.turn().await?;
    let is_new =
        tokio::task::spawn_blocking(move || keep(&archive, portable)).await.map_err(|_| Failure::internal())??;
    drop(turn);
    if is_new {
        output::eprint_line(&format!("record {id} was received and archived"));
    }
    let answer =
        serde_json::to_vec(&json!({ "id": id, "kept": is_new })).map_err(|error| Failure::of(&error.into()))?;
    let mut response = state.room(answer)?.into_response(JSON);
    *response.status_mut() = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(response)
}

/// Stores the record; returns whether it is new.
fn keep(archive: &Archive, portable: PortableRecord) -> Result<bool, Failure> {
    let fetched = archive.admit(vec![portable]).map_err(|error| Failure::not_stored(&error))?;
    if let Some(refused) = fetched.refused.first() {
        let why = format!("the record was not archived: {}", refused.reason);
        return Err(Failure::new(StatusCode::UNPROCESSABLE_ENTITY, why));
    }
    archive.tidy();
    Ok(fetched.taken > 0)
}

/// Returns the body, at most `most` bytes, if it arrives in time.
///
/// # Errors
/// It does not, or it ends early.
pub async fn content(request: Request<Incoming>, most: usize) -> Result<Vec<u8>, Failure> {
    let mut body = request.into_body();
    let too_large =
        || Failure::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is too large; allowed: {most} bytes"));
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let mut content = Vec::new();
    let all = async {
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let broken = |_| Failure::new(StatusCode::BAD_REQUEST, "the body is truncated");
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            if content.len() + data.len() > most {
                return Err(too_large());
            }
            content.extend_from_slice(&data);
        }
        Ok(())
    };
    match timeout(PUSH, all).await {
        Ok(read) => read.map(|()| content),
        Err(_) => Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the body arrived too slowly")),
    }
}

/// The policy of a page, which is one file: it loads nothing and sends nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The part of a message that is read.
const MESSAGE_BYTES: u64 = 4_096;

/// Answers with the HTML report of a record, made by `contend report` in a separate process, which can be ended at any
/// time.
pub async fn page(state: &Arc<State>, id: String) -> Result<Response<Body>, Failure> {
    let (archive, name) = (state.archive.clone(), id.clone());
    // Whether the record exists is checked here, since the program contend itself may be missing.
    let turn = state.turn().await?;
    let exists = tokio::task::spawn_blocking(move || archive.portable(&name).is_ok()).await;
    if !exists.unwrap_or(false) {
        return Err(Failure::new(StatusCode::NOT_FOUND, format!("no record {id}")));
    }
    let made = made(state, &["report", &id]).await;
    drop(turn);
    match made? {
        Made::Page(page) => Ok(html(state.room(page)?)),
        Made::Refused { reason, .. } => Err(Failure::of(&anyhow::anyhow!("report of record {id}: {reason}"))),
    }
}

/// Answers with the comparison of all machines of the archive; the reason if they cannot be compared.
pub async fn machines(state: &Arc<State>) -> Result<Response<Body>, Failure> {
    let turn = state.turn().await?;
    let made = made(state, &["machines", "--page", "-"]).await;
    drop(turn);
    match made? {
        Made::Page(page) => Ok(html(state.room(page)?)),
        Made::Refused { status: NOTHING_TO_COMPARE, reason } => Err(Failure::new(StatusCode::NOT_FOUND, reason)),
        Made::Refused { reason, .. } => Err(Failure::of(&anyhow::anyhow!("machines: {reason}"))),
    }
}

/// The exit status of contend for records that are in order and have nothing to compare.
const NOTHING_TO_COMPARE: i32 = 4;

/// The result of a process that makes a page.
enum Made {
    Page(Vec<u8>),
    /// The exit status, and the reason that it printed.
    Refused {
        status: i32,
        reason: String,
    },
}

/// Runs contend with these words and the archive, for a limited time.
async fn made(state: &Arc<State>, words: &[&str]) -> Result<Made, Failure> {
    let program = program::contend()
        .map_err(|error| Failure::new(StatusCode::NOT_IMPLEMENTED, format!("cannot create a page: {error:#}")))?;
    let mut command = Command::new(program);
    command.args(words).arg("--archive").arg(state.archive.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = timeout(PAGE, output(command)).await.unwrap_or_else(|_| Err(anyhow::anyhow!("timed out")));
    output.map_err(|error| Failure::of(&error.context(format!("contend {}", words.join(" ")))))
}

/// Answers with the list of records as a page.
pub async fn index(state: &Arc<State>) -> Result<Response<Body>, Failure> {
    let shared = Arc::clone(state);
    let page = state
        .worked(move || {
            let page = shared.index.page(&shared.archive).map_err(|error| Failure::of(&error))?;
            Ok(page.into_bytes())
        })
        .await?;
    Ok(html(page))
}

/// Returns the answer with a page, under the policy of pages.
pub fn html(page: Worked) -> Response<Body> {
    let mut response = page.into_response("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

async fn output(mut command: Command) -> anyhow::Result<Made> {
    let mut child = command.spawn().context("cannot run contend")?;
    let (mut page, mut message) = (Vec::new(), Vec::new());
    let stdout = child.stdout.take().context("contend has no standard output")?;
    let stderr = child.stderr.take().context("contend has no standard error")?;
    // Each pipe is closed as soon as enough was read of it: a process that writes more would wait forever.
    let (to_page, to_message) = (&mut page, &mut message);
    let read = async move { stdout.take(PAGE_BYTES + 1).read_to_end(to_page).await };
    let said = async move { stderr.take(MESSAGE_BYTES).read_to_end(to_message).await };
    tokio::try_join!(read, said)?;
    anyhow::ensure!(page.len() as u64 <= PAGE_BYTES, "larger than the limit");
    let status = child.wait().await?;
    if status.success() {
        return Ok(Made::Page(page));
    }
    let code = status.code().with_context(|| format!("contend was ended ({status})"))?;
    let message = String::from_utf8_lossy(&message).into_owned();
    let reason = message.trim().strip_prefix("error: ").unwrap_or(message.trim()).to_owned();
    let reason = if reason.is_empty() { format!("contend failed ({status})") } else { reason };
    Ok(Made::Refused { status: code, reason })
}

/// Answers with the metrics, in the requested format.
pub async fn scrape(state: &Arc<State>, request: &Request<Incoming>) -> Result<Response<Body>, Failure> {
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_open = accept.contains("application/openmetrics-text");
    let shared = Arc::clone(state);
    let worked = state
        .worked(move || {
            let connections = &shared.connections;
            let is_running = shared.experiments.is_running();
            let own = Own { open: connections.open(), cut: connections.cut(), is_running };
            let text = shared.metrics.text(&shared.archive, &own).map_err(|error| Failure::of(&error))?;
            Ok(if is_open { text } else { classic(&text) }.into_bytes())
        })
        .await?;
    let mut response = worked.into_response(if is_open { OPEN_METRICS } else { CLASSIC });
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

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

/// Starts an experiment of the list.
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
