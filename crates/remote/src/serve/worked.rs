//! The bytes of an answer, and the room that they occupy until they have been read.

use super::body::Body;
use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use tokio::sync::OwnedSemaphorePermit;

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
