//! A record that a client pushes: read up to a limit, compared with its name, parsed like a reader would, and only then
//! stored.

use super::body::Body;
use super::failure::Failure;
use super::limits::{PUSH, PUSH_BYTES};
use super::state::State;
use crate::exchange::JSON;
use ::archive::{Archive, PortableRecord};
use harness::output;
use hyper::body::{Body as _, Incoming};
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use tokio::time::timeout;

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
