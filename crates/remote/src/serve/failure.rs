//! The reasons for not answering a request.

use super::body::Body;
use crate::exchange::JSON;
use bytes::Bytes;
use harness::output;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use terminal::without_error_numbers;

#[derive(Debug)]
pub struct Failure {
    pub status: StatusCode,
    reason: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Failure {
    pub fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: without_error_numbers(&reason.into()).into_owned(), header: None }
    }

    pub fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once; try again later")
    }

    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error; the server prints the reason on its standard error",
        )
    }

    /// Creates a failure whose details are only shown to the operator of the server.
    pub fn of(error: &anyhow::Error) -> Self {
        output::eprint_line(&format!("error: {error:#}"));
        Self::internal()
    }

    /// Creates the failure of a record that the archive did not take.
    ///
    /// A full disk has a separate status, after which a client may wait.
    pub fn not_stored(error: &anyhow::Error) -> Self {
        let failure = Self::of(error);
        if !archive::is_disk_full(error) {
            return failure;
        }
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "the disk of the server is full; the record was not saved")
    }

    pub fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, HeaderValue::from_static(value)));
        self
    }

    pub fn answer(self) -> Response<Body> {
        let content = json!({ "error": self.reason }).to_string() + "\n";
        let mut response = Response::new(Body::whole(Bytes::from(content), Vec::new()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.extend(self.header);
        response
    }
}
