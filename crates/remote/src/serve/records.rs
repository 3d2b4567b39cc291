//! The list of records, and one of them: as it was printed, or with all objects that its name is the hash of.

use super::body::Body;
use super::failure::Failure;
use super::state::State;
use crate::exchange::{JSON, WHOLE};
use harness::output;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, ETAG, HeaderValue, RANGE, VARY};
use hyper::{Request, Response, StatusCode};
use std::sync::Arc;

/// Answers with the list of records, the oldest first.
pub async fn list(state: &Arc<State>) -> Result<Response<Body>, Failure> {
    let archive = state.archive.clone();
    let worked = state
        .worked(move || {
            let listing = archive.listing().map_err(|error| Failure::of(&error))?;
            output::json_line(&listing.entries).map(String::into_bytes).map_err(|error| Failure::of(&error.into()))
        })
        .await?;
    Ok(worked.into_response(JSON))
}

/// Answers with the record of this name, or the rest of it from a byte on.
pub async fn one(state: &Arc<State>, id: String, request: &Request<Incoming>) -> Result<Response<Body>, Failure> {
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
