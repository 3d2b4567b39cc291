//! The body of an answer: existing bytes, or a stream of events. Either holds its room until it has been read, or the
//! other side has closed the connection.

use super::connections::Answering;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

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
