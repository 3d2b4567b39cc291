//! A connection to a server: opened when it is needed, and again when it breaks.

use super::fault::Fault;
use super::host::Host;
use crate::token;
use anyhow::Context;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, RANGE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The time limit for the connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The time limit for the begin of an answer, and for its next bytes.
const ANSWER: Duration = Duration::from_secs(30);
/// The maximum number of bytes that are read of an error message.
const MOST_OF_ERROR: u64 = 4_096;

/// The credentials for every server.
#[derive(Clone)]
pub struct Secrets {
    token: Option<String>,
    tls: Arc<ClientConfig>,
}

impl Secrets {
    /// Reads the token.
    ///
    /// # Errors
    /// The file with the token cannot be used.
    pub fn new(token_file: Option<&Path>, tls: ClientConfig) -> anyhow::Result<Self> {
        Ok(Self { token: token_file.map(token::read).transpose()?, tls: Arc::new(tls) })
    }
}

pub struct Client {
    host: Host,
    secrets: Secrets,
    open: Option<SendRequest<String>>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Question {
    pub path: String,
    pub accept: &'static str,
    /// The offset of the first byte that is requested.
    pub from: usize,
    /// The body of the request, if it has one.
    pub sent: Option<String>,
}

impl Question {
    pub fn of(path: impl Into<String>, accept: &'static str) -> Self {
        Self { path: path.into(), accept, from: 0, sent: None }
    }
}

impl Client {
    pub fn new(host: Host, secrets: Secrets) -> Self {
        Self { host, secrets, open: None }
    }

    /// Sends a request and returns the begin of the answer, which has a good status.
    ///
    /// # Errors
    /// The server does not answer, answers with an error, or breaks off.
    pub async fn ask(&mut self, question: &Question) -> Result<Response<Incoming>, Fault> {
        let request = self.request(question)?;
        let mut sender = match self.open.take().filter(|open| !open.is_closed()) {
            Some(open) => open,
            None => self.connected().await?,
        };
        sender.ready().await.map_err(Fault::of)?;
        let answered = timeout(ANSWER, sender.send_request(request)).await;
        let response = answered.map_err(|_| Fault::broken("the server does not answer"))?.map_err(Fault::of)?;
        self.open = Some(sender);
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    /// Drops the connection: the answer to the last request is not wanted any more.
    pub fn hang_up(&mut self) {
        self.open = None;
    }

    fn request(&self, question: &Question) -> Result<Request<String>, Fault> {
        let method = if question.sent.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder().method(method).uri(&question.path);
        request = request.header(HOST, self.host.authority()).header(ACCEPT, question.accept);
        if let Some(token) = &self.secrets.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if question.from > 0 {
            request = request.header(RANGE, format!("bytes={}-", question.from));
        }
        if question.sent.is_some() {
            request = request.header(CONTENT_TYPE, crate::exchange::JSON);
        }
        let request = request.body(question.sent.clone().unwrap_or_default());
        request.map_err(|error| Fault::Final(anyhow::Error::new(error).context("not a valid request")))
    }

    async fn connected(&self) -> Result<SendRequest<String>, Fault> {
        let address = (self.host.name.as_str(), self.host.port);
        let stream = match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(Fault::unreachable(&error)),
            Err(_) => return Err(Fault::unreachable(&"connection timed out")),
        };
        let _ = stream.set_nodelay(true);
        if !self.host.is_encrypted {
            return talking(stream).await;
        }
        let name = ServerName::try_from(self.host.name.clone())
            .with_context(|| format!("{}: not a valid server name", self.host.name))
            .map_err(Fault::Final)?;
        let connector = TlsConnector::from(Arc::clone(&self.secrets.tls));
        match timeout(CONNECT, connector.connect(name, stream)).await {
            Ok(Ok(encrypted)) => talking(encrypted).await,
            Ok(Err(error)) => Err(Fault::of_encryption(error)),
            Err(_) => Err(Fault::broken(
                "the server does not use TLS; for a connection without encryption, write http://HOST",
            )),
        }
    }
}

async fn talking(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<SendRequest<String>, Fault> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(64 << 10).max_headers(64);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(Fault::of)?;
    // The task ends with the sender; the code that waits for an answer receives its error.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// Returns the next piece of an answer; `None` at its end.
///
/// # Errors
/// The answer broke off, or does not continue.
pub async fn piece(body: &mut Incoming, patience: Duration) -> Result<Option<bytes::Bytes>, Fault> {
    loop {
        let next = timeout(patience, poll_fn(|context| Pin::new(&mut *body).poll_frame(context))).await;
        match next.map_err(|_| Fault::broken("the server stopped sending"))? {
            None => return Ok(None),
            Some(Err(error)) => return Err(Fault::of(error)),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Appends the whole answer to `content`, at most `most` bytes.
///
/// # Errors
/// As [`piece`]; or it is too large.
pub async fn all(response: Response<Incoming>, content: &mut Vec<u8>, most: u64) -> Result<(), Fault> {
    let mut body = response.into_body();
    while let Some(data) = piece(&mut body, ANSWER).await? {
        if (content.len() + data.len()) as u64 > most {
            return Err(Fault::Final(anyhow::anyhow!(
                "the server sends more than {most} bytes, the limit for one answer"
            )));
        }
        content.extend_from_slice(&data);
    }
    Ok(())
}

async fn refused(response: Response<Incoming>) -> Fault {
    let status = response.status();
    let mut content = Vec::new();
    // A host that sends its reason too slowly is refused without one.
    let _ = timeout(ANSWER, all(response, &mut content, MOST_OF_ERROR)).await;
    let reason: Value = serde_json::from_slice(&content).unwrap_or_default();
    let reason = reason["error"].as_str().unwrap_or("no reason given; is the server `contend serve`?").to_owned();
    let words = anyhow::anyhow!("the server answered {}: {reason}", status.as_u16());
    if status == StatusCode::SERVICE_UNAVAILABLE { Fault::Broken(words) } else { Fault::Final(words) }
}
