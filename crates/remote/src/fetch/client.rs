//! A connection to a server: opened when it is needed, and again when it breaks.

use crate::exchange::PORT;
use crate::token;
use anyhow::{Context, bail};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, RANGE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_rustls::TlsConnector;

/// A host, as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name without brackets.
    pub name: String,
    pub port: u16,
    pub is_encrypted: bool,
}

/// Several hosts, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub Vec<Host>);

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl Host {
    /// Returns the host as written in an address.
    pub fn authority(&self) -> String {
        let name = if self.name.contains(':') { format!("[{}]", self.name) } else { self.name.clone() };
        format!("{name}:{}", self.port)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.authority())
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (name, port) = parts(rest)?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(
                "not a host; allowed: a name or an address, such as one.example:8418, 10.0.0.1 or [::1]:8418".into()
            );
        }
        let is_here = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let is_encrypted = match scheme {
            None => !is_here,
            Some("https") => true,
            Some("http") => false,
            Some(other) => return Err(format!("{other}:// is not supported; allowed: http:// and https://")),
        };
        Ok(Self { name: name.to_owned(), port, is_encrypted })
    }
}

/// Splits the name from the port.
///
/// An IPv6 address with a port has brackets.
fn parts(text: &str) -> Result<(&str, u16), String> {
    let number = |port: &str| port.parse().map_err(|_| format!("{port:?} is not a port; allowed: 1 to 65535"));
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(port) => Ok((address, number(port)?)),
            None if rest.is_empty() => Ok((address, PORT)),
            None => Err("only a port may follow the closing bracket".into()),
        };
    }
    match text.split_once(':') {
        Some((name, port)) if !port.contains(':') => Ok((name, number(port)?)),
        _ => Ok((text, PORT)),
    }
}

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

/// Errors between two machines: transient ones, after which a retry may help, and final ones.
#[derive(Debug)]
pub enum Fault {
    /// The machine cannot be reached.
    Unreachable(anyhow::Error),
    /// The connection broke off or stalled.
    Broken(anyhow::Error),
    /// A retry would not help.
    Final(anyhow::Error),
}

impl Fault {
    pub fn unreachable(why: &dyn Display) -> Self {
        Self::Unreachable(anyhow::anyhow!("cannot connect: {why}"))
    }

    pub fn broken(why: &str) -> Self {
        Self::Broken(anyhow::anyhow!("{why}"))
    }

    /// Classifies an error of an exchange: data that are not HTTP do not come from contend's server, and all other
    /// errors may be the network's.
    pub fn of(error: hyper::Error) -> Self {
        if error.is_parse() {
            return Self::Final(anyhow::Error::new(error).context("the server is not `contend serve`"));
        }
        Self::Broken(anyhow::Error::new(error).context("the connection was lost"))
    }

    /// Classifies an error of a handshake: a retry does not change a certificate.
    fn of_encryption(error: io::Error) -> Self {
        let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        let error = anyhow::Error::new(error);
        if is_tls {
            return Self::Final(error.context("cannot establish a TLS connection"));
        }
        Self::Broken(error.context("the connection was lost during the TLS handshake"))
    }

    pub fn into_error(self) -> anyhow::Error {
        match self {
            Self::Unreachable(error) | Self::Broken(error) | Self::Final(error) => error,
        }
    }
}

/// The maximum number of tries without progress.
const TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Retries: unlimited, as long as every try gets a little further.
#[derive(Default)]
pub struct Patience {
    has_connected: bool,
    in_vain: u32,
}

impl Patience {
    /// Notes progress.
    pub fn gained(&mut self) {
        self.has_connected = true;
        self.in_vain = 0;
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// Another try is useless.
    pub async fn after(&mut self, fault: Fault) -> anyhow::Result<()> {
        self.in_vain += 1;
        match fault {
            Fault::Final(error) => Err(error),
            Fault::Unreachable(error) if !self.has_connected => Err(error),
            Fault::Unreachable(error) | Fault::Broken(error) if self.in_vain >= TRIES => {
                Err(error.context(format!("gave up after {TRIES} attempts")))
            }
            Fault::Unreachable(_) | Fault::Broken(_) => {
                sleep(FIRST_WAIT * 2_u32.pow(self.in_vain.min(6))).await;
                Ok(())
            }
        }
    }
}

/// The number of answers in the limit: each has this part of the time.
const ANSWERS: u32 = 10;

/// The time limit of a host, whatever it sends: a list and all records within one limit, and each of them within a part
/// of it.
///
/// [`CONNECT`] and [`ANSWER`] bound the wait for the next bytes only. A host that sends a byte a second, or an endless
/// sequence of interim responses, stays within those forever.
#[derive(Clone, Copy)]
pub struct Deadline {
    within: Duration,
    end: Instant,
}

impl Deadline {
    /// Starts the time.
    pub fn after(within: Duration) -> Self {
        Self { within, end: Instant::now() + within }
    }

    /// Returns the result of `work`, which only waits for the network: nothing is lost if it is dropped.
    ///
    /// # Errors
    /// Those of `work`; or the time is over.
    pub async fn hold<T>(&self, subject: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let (all, one) = (self.within.as_secs_f64(), self.within.as_secs_f64() / f64::from(ANSWERS));
        let end = Instant::now() + self.within / ANSWERS;
        match timeout_at(end.min(self.end), work).await {
            Ok(result) => result.with_context(|| subject.to_owned()),
            Err(_) if end < self.end => bail!("{subject}: not received within {one} s, a tenth of --within"),
            Err(_) => bail!(
                "{subject}: not received within the {all} s of --within; records received before are saved, and the \
                 next fetch continues there"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_as_written() {
        for (text, name, port, is_encrypted) in [
            ("one.example", "one.example", PORT, true),
            ("one:1", "one", 1, true),
            ("localhost:1", "localhost", 1, false),
            ("127.0.0.1", "127.0.0.1", PORT, false),
            ("https://127.0.0.1:2/", "127.0.0.1", 2, true),
            ("http://one", "one", PORT, false),
            ("[::1]:3", "::1", 3, false),
            ("fe80::1", "fe80::1", PORT, true),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((host.name.as_str(), host.port, host.is_encrypted), (name, port, is_encrypted), "{text}");
        }
        for wrong in ["", ":1", "one:", "one:x", "one:70000", "ftp://one", "a b", "one/records", "[::1]x", "a@b"] {
            assert!(wrong.parse::<Host>().is_err(), "{wrong}");
        }
    }
}
