//! One request: its checks, its route and its answer.

use super::connections::Connection;
use super::handlers;
use super::response::{Body, Failure};
use super::state::State;
use crate::exchange::JSON;
use archive::is_hash;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::sync::Arc;

/// The OpenAPI document of this server.
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
    check_head(&request)?;
    check_secret(state, &request)?;
    check_host(state, &request)?;
    check_site(&request)?;
    let unknown = || {
        Failure::new(StatusCode::NOT_FOUND, "no such path; / lists the records, and /openapi.json describes all paths")
    };
    let route = Route::of(request.uri().path()).ok_or_else(unknown)?;
    // The library sends only the head if the request was HEAD.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    if !route.methods().contains(method) {
        let allowed = if route.methods().len() == 2 { "GET, HEAD, POST" } else { "GET, HEAD" };
        let why = format!("method {} is not supported; allowed: {allowed}", request.method());
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, why).with(ALLOW, allowed));
    }
    let is_post = request.method() == Method::POST;
    if is_post {
        check_kind(&request)?;
    }
    match route {
        Route::Index => handlers::index(state).await,
        Route::Icon => Ok(state.room(report::ICON.into())?.into_response("image/svg+xml")),
        Route::Machines => handlers::machines(state).await,
        Route::Records if is_post => handlers::push(state, request).await,
        Route::Records => handlers::list_records(state).await,
        Route::Record(id) => handlers::send_record(state, id, &request).await,
        Route::Page(id) => handlers::page(state, id).await,
        Route::Live if is_post => handlers::start(state, request).await,
        Route::Live => handlers::listen(state),
        Route::Metrics => handlers::scrape(state, &request).await,
        Route::OpenApi => Ok(state.room(OPEN_API.into())?.into_response(JSON)),
    }
}

fn check_secret(state: &State, request: &Request<Incoming>) -> Result<(), Failure> {
    let Some(token) = &state.token else { return Ok(()) };
    if token.is_in(request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes)) {
        return Ok(());
    }
    let why = "missing or wrong token; send the header `authorization: Bearer TOKEN`";
    Err(Failure::new(StatusCode::UNAUTHORIZED, why).with(WWW_AUTHENTICATE, "Bearer"))
}

/// Checks the host name.
///
/// A page in a browser can let any name resolve to this machine, and then read the answers: without a token, only this
/// machine's own names are answered.
fn check_host(state: &State, request: &Request<Incoming>) -> Result<(), Failure> {
    if !state.is_open {
        return Ok(());
    }
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
    // The request line has a host as well if the client takes this server for a proxy.
    let hosts = request.uri().authority().map(|authority| authority.as_str()).into_iter().chain(header(HOST));
    if hosts.into_iter().all(is_own) && header(ORIGIN).is_none_or(is_own_origin) {
        return Ok(());
    }
    let why = "without a token, this server answers only requests to localhost, and none from pages of other sites";
    Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, why))
}

/// Returns whether an authority is a name of this machine, with a port or without.
///
/// It must not contain anything else: `localhost:x@evil` is a user name on the host `evil`.
fn is_own(authority: &str) -> bool {
    let name = ["localhost", "127.0.0.1", "[::1]"].into_iter().find_map(|name| authority.strip_prefix(name));
    name.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn is_own_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(scheme, rest)| matches!(scheme, "http" | "https") && is_own(rest))
}

/// Checks that the head has one meaning: RFC 9112 requires one Host line in a request of HTTP/1.1 and a refusal of two,
/// of which a proxy and this server might read different ones.
///
/// No browser sends two Origin lines.
fn check_head(request: &Request<Incoming>) -> Result<(), Failure> {
    let count = |name| request.headers().get_all(name).iter().count();
    let is_named = count(HOST) == 1 || (count(HOST) == 0 && request.version() < Version::HTTP_11);
    if is_named && count(ORIGIN) <= 1 {
        return Ok(());
    }
    let why = "a request must have exactly one Host header and at most one Origin header";
    Err(Failure::new(StatusCode::BAD_REQUEST, why))
}

/// Checks that the request does not come from a page of another site.
///
/// Such a page could not read the answer, but would start the request, and occupy a listener's slot. A link that the
/// user follows is a navigation to a document, and allowed.
fn check_site(request: &Request<Incoming>) -> Result<(), Failure> {
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
    let is_link = header("sec-fetch-mode") == Some("navigate") && header("sec-fetch-dest") == Some("document");
    match header("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if is_link && request.method() == Method::GET => Ok(()),
        Some(site) => {
            let why = format!("requests from pages of other sites are refused (sec-fetch-site: {site})");
            Err(Failure::new(StatusCode::FORBIDDEN, why))
        }
    }
}

/// Checks the content type, which a form in a page of another site cannot send.
fn check_kind(request: &Request<Incoming>) -> Result<(), Failure> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind == JSON || kind == crate::exchange::WHOLE {
        return Ok(());
    }
    let why = format!("the body must be JSON with the header `content-type: {JSON}`");
    Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}

/// A resource that can be requested, by its path. `openapi.json` describes the paths too; a test compares the two.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Route {
    Index,
    Icon,
    Machines,
    Records,
    Record(String),
    Page(String),
    Live,
    Metrics,
    OpenApi,
}

impl Route {
    /// Returns the route of a path; the path is compared literally, and nothing in it is decoded.
    pub fn of(path: &str) -> Option<Self> {
        match path {
            "/" => return Some(Self::Index),
            "/favicon.ico" => return Some(Self::Icon),
            "/machines" => return Some(Self::Machines),
            "/records" => return Some(Self::Records),
            "/live" => return Some(Self::Live),
            "/metrics" => return Some(Self::Metrics),
            "/openapi.json" => return Some(Self::OpenApi),
            _ => {}
        }
        let rest = path.strip_prefix("/records/")?;
        let (id, is_page) = rest.strip_suffix("/page").map_or((rest, false), |id| (id, true));
        is_hash(id).then(|| if is_page { Self::Page(id.to_owned()) } else { Self::Record(id.to_owned()) })
    }

    pub fn methods(&self) -> &'static [Method] {
        match self {
            Self::Records | Self::Live => &[Method::GET, Method::POST],
            _ => &[Method::GET],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_a_route_or_unknown() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(Route::of(&format!("/records/{id}")), Some(Route::Record(id.into())));
        assert_eq!(Route::of(&format!("/records/{id}/page")), Some(Route::Page(id.into())));
        let upper = id.to_uppercase();
        for path in [
            "",
            "//",
            "/records/",
            "/machines/",
            "/records//page",
            "/Records",
            "/records/..",
            "/metrics/",
            &format!("/records/{upper}"),
        ] {
            assert_eq!(Route::of(path), None, "{path}");
        }
    }
}
