//! The HTML report of a record, and the comparison of the machines: made by `contend` in a separate process, which can be
//! ended at any time.

use super::body::Body;
use super::failure::Failure;
use super::limits::{PAGE, PAGE_BYTES};
use super::state::State;
use super::worked::Worked;
use crate::sibling;
use anyhow::Context;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{Response, StatusCode};
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// The policy of a page, which is one file: it loads nothing and sends nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The part of a message that is read.
const MESSAGE_BYTES: u64 = 4_096;

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
        Made::Refused(reason) => Err(Failure::of(&anyhow::anyhow!("report of record {id}: {reason}"))),
    }
}

/// Answers with the comparison of all machines of the archive; the reason if they cannot be compared.
pub async fn machines(state: &Arc<State>) -> Result<Response<Body>, Failure> {
    let turn = state.turn().await?;
    let made = made(state, &["machines", "--page", "-"]).await;
    drop(turn);
    match made? {
        Made::Page(page) => Ok(html(state.room(page)?)),
        Made::Refused(reason) => Err(Failure::new(StatusCode::NOT_FOUND, reason)),
    }
}

/// The result of a process that makes a page.
enum Made {
    Page(Vec<u8>),
    /// The reason that it printed.
    Refused(String),
}

/// Runs contend with these words and the archive, for a limited time.
async fn made(state: &Arc<State>, words: &[&str]) -> Result<Made, Failure> {
    let program = sibling::contend()
        .map_err(|error| Failure::new(StatusCode::NOT_IMPLEMENTED, format!("cannot create a page: {error:#}")))?;
    let mut command = Command::new(program);
    command.args(words).arg("--archive").arg(state.archive.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = timeout(PAGE, output(command)).await.unwrap_or_else(|_| Err(anyhow::anyhow!("timed out")));
    output.map_err(|error| Failure::of(&error.context(format!("contend {}", words.join(" ")))))
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
    let (mut stdout, mut stderr) = (stdout.take(PAGE_BYTES + 1), stderr.take(MESSAGE_BYTES));
    let (read, said) = tokio::join!(stdout.read_to_end(&mut page), stderr.read_to_end(&mut message));
    read?;
    said?;
    anyhow::ensure!(page.len() as u64 <= PAGE_BYTES, "larger than the limit");
    // A process that writes more than is read of it would wait forever.
    drop((stdout, stderr));
    let status = child.wait().await?;
    if status.success() {
        return Ok(Made::Page(page));
    }
    let message = String::from_utf8_lossy(&message).into_owned();
    let reason = message.trim().strip_prefix("error: ").unwrap_or(message.trim()).to_owned();
    Ok(Made::Refused(if reason.is_empty() { format!("contend failed ({status})") } else { reason }))
}
