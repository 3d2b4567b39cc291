//! The answer with the list of records as a page.

use super::body::Body;
use super::failure::Failure;
use super::page::html;
use super::state::State;
use hyper::Response;
use std::sync::Arc;

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
