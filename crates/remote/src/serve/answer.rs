//! One request: who asks, what for, and whether they may.

use super::body::Body;
use super::connections::Connection;
use super::failure::Failure;
use super::routes::Route;
use super::state::State;
use super::{experiments, page, push, records, scrape};
use crate::exchange::JSON;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::sync::Arc;

/// What this server understands, as an OpenAPI document.
const OPEN_API: &str = include_str!("openapi.json");

pub async fn answer(
    state: Arc<State>,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let answering = connection.answering();
    let mut response = match found(&state, request).await {
        Ok(response) => response,
        Err(failure) => {
            let is_busy = failure.status == StatusCode::SERVICE_UNAVAILABLE;
            let failure = if is_busy { failure.with(RETRY_AFTER, "5") } else { failure };
            failure.answer()
        }
    };
    state.metrics.answered(response.status());
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    Ok(response.map(|body| body.of(answering)))
}

async fn found(state: &Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    check_secret(state, &request)?;
    check_host(state, &request)?;
    let nothing = || Failure::new(StatusCode::NOT_FOUND, "there is nothing here; /openapi.json says what there is");
    let route = Route::of(request.uri().path()).ok_or_else(nothing)?;
    if !route.methods().contains(request.method()) {
        let allowed = if route.methods().len() == 2 { "GET, POST" } else { "GET" };
        let why = format!("{} is not understood here; {allowed} is", request.method());
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, why).with(ALLOW, allowed));
    }
    let is_post = request.method() == Method::POST;
    if is_post {
        check_kind(&request)?;
    }
    match route {
        Route::Records if is_post => push::push(state, request).await,
        Route::Records => records::list(state).await,
        Route::Record(id) => records::one(state, id, &request).await,
        Route::Page(id) => page::page(state, id).await,
        Route::Live if is_post => experiments::start(state, request).await,
        Route::Live => experiments::listen(state),
        Route::Metrics => scrape::scrape(state, &request).await,
        Route::OpenApi => Ok(state.room(OPEN_API.into())?.given(JSON)),
    }
}

fn check_secret(state: &State, request: &Request<Incoming>) -> Result<(), Failure> {
    let Some(token) = &state.token else { return Ok(()) };
    if token.is_in(request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes)) {
        return Ok(());
    }
    let why = "a token is needed, and it must be the right one: `authorization: Bearer TOKEN`";
    Err(Failure::new(StatusCode::UNAUTHORIZED, why).with(WWW_AUTHENTICATE, "Bearer"))
}

/// A page in a browser can have any name lead to this machine, and then read whatever answers to that name: where no
/// token is asked for, only this machine's own names are answered, and no page of another's.
fn check_host(state: &State, request: &Request<Incoming>) -> Result<(), Failure> {
    if !state.is_open {
        return Ok(());
    }
    let is_own = |authority: &str| {
        let name =
            authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(authority, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    };
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
    // The request's line has it if it is asked as a proxy is.
    let host = request.uri().authority().map(|authority| authority.as_str()).or_else(|| header(HOST));
    let origin = header(ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, authority)| authority));
    if host.is_none_or(is_own) && origin.is_none_or(is_own) {
        return Ok(());
    }
    let why = "without a token only requests to localhost are answered, and none of another's page";
    Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, why))
}

/// What a form in a page of somebody else's cannot send.
fn check_kind(request: &Request<Incoming>) -> Result<(), Failure> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind == JSON || kind == crate::exchange::WHOLE {
        return Ok(());
    }
    let why = format!("what is sent must be JSON and say so: `content-type: {JSON}`");
    Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}
