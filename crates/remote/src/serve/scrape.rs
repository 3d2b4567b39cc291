//! The metrics, in the requested format.

use super::body::Body;
use super::failure::Failure;
use super::metrics::{CLASSIC, OPEN_METRICS, Own, classic};
use super::state::State;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderValue, VARY};
use hyper::{Request, Response};
use std::sync::Arc;

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
