//! An answer: its bytes or its stream of events, the room that they occupy, and the reasons for refusing a request.

use super::connections::Answering;
use crate::exchange::JSON;
use bytes::Bytes;
use harness::output;
use http_body::{Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use terminal::without_error_numbers;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// The body of an answer: existing bytes, or a stream of events. Either holds its room until it has been read, or the
/// other side has closed the connection.
pub struct Body {
    content: Content,
    _held: Vec<OwnedSemaphorePermit>,
    _answering: Option<Answering>,
}

enum Content {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl Body {
    pub fn whole(content: Bytes, held: Vec<OwnedSemaphorePermit>) -> Self {
        let content = Content::Whole(Some(content).filter(|content| !content.is_empty()));
        Self { content, _held: held, _answering: None }
    }

    pub fn stream(stream: mpsc::Receiver<Bytes>, held: OwnedSemaphorePermit) -> Self {
        Self { content: Content::Stream(stream), _held: vec![held], _answering: None }
    }

    /// Creates the body.
    ///
    /// The request counts as being answered until the body is dropped.
    pub fn of(mut self, answering: Answering) -> Self {
        if let Content::Stream(_) = self.content {
            answering.listens();
        }
        self._answering = Some(answering);
        self
    }
}

/// Returns a copy of the next piece: the bytes that wait to be sent must not hold all the rest, which is counted here.
fn next(content: &mut Option<Bytes>) -> Option<Bytes> {
    const PIECE: usize = 32 << 10;
    let mut rest = content.take()?;
    let piece = rest.split_to(rest.len().min(PIECE));
    *content = Some(rest).filter(|rest| !rest.is_empty());
    Some(Bytes::copy_from_slice(&piece))
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Whole(content) => Poll::Ready(next(content).map(|piece| Ok(Frame::data(piece)))),
            Content::Stream(stream) => stream.poll_recv(context).map(|next| next.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(content) => SizeHint::with_exact(content.as_ref().map_or(0, |content| content.len() as u64)),
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

/// The bytes of an answer, and the room that they occupy until they have been read.
pub struct Worked {
    pub content: Bytes,
    pub room: OwnedSemaphorePermit,
}

impl Worked {
    /// Returns the answer with its media type.
    pub fn into_response(self, kind: &'static str) -> Response<Body> {
        let mut response = Response::new(Body::whole(self.content, vec![self.room]));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}

/// The reason for not answering a request.
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
