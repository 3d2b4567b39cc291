//! The HTML report of a record, made by `contend report` in a separate process, which can be ended at any time.

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

pub async fn page(state: &Arc<State>, id: String) -> Result<Response<Body>, Failure> {
    let (archive, name) = (state.archive.clone(), id.clone());
    // Whether the record exists is checked here, since the program contend itself may be missing.
    let turn = state.turn().await?;
    let exists = tokio::task::spawn_blocking(move || archive.portable(&name).is_ok()).await;
    if !exists.unwrap_or(false) {
        return Err(Failure::new(StatusCode::NOT_FOUND, format!("no record {id}")));
    }
    let program = sibling::contend()
        .map_err(|error| Failure::new(StatusCode::NOT_IMPLEMENTED, format!("cannot create a report: {error:#}")))?;
    let mut command = Command::new(program);
    command.arg("report").arg(&id).arg("--archive").arg(state.archive.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let report = timeout(PAGE, report(command)).await;
    drop(turn);
    let report = report.unwrap_or_else(|_| Err(anyhow::anyhow!("timed out")));
    let page = report.map_err(|error| Failure::of(&error.context(format!("report of record {id}"))))?;
    Ok(html(state.room(page)?))
}

/// Returns the answer with a page, under the policy of pages.
pub fn html(page: Worked) -> Response<Body> {
    let mut response = page.into_response("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

async fn report(mut command: Command) -> anyhow::Result<Vec<u8>> {
    let mut child = command.spawn().context("cannot run contend")?;
    let mut page = Vec::new();
    let stdout = child.stdout.take().context("contend has no standard output")?;
    stdout.take(PAGE_BYTES + 1).read_to_end(&mut page).await?;
    anyhow::ensure!(page.len() as u64 <= PAGE_BYTES, "larger than the limit");
    let status = child.wait().await?;
    anyhow::ensure!(status.success(), "contend report failed ({status})");
    Ok(page)
}
