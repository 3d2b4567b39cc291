//! Requests as bytes, also those that a library would not send.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Sends these bytes and returns the whole answer; bytes that cannot be sent any more are dropped.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    super::rest(&mut stream)
}

/// Sends one request with these header lines, and returns its answer.
pub fn ask(address: SocketAddr, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let is_named = headers.to_lowercase().lines().any(|line| line.starts_with("host:"));
    let host = if is_named { "" } else { "host: localhost\r\n" };
    let head = format!(
        "{method} {path} HTTP/1.1\r\n{host}{headers}connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = connect(address);
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    answer(&super::rest(&mut stream)).unwrap_or_else(|| panic!("no answer to {method} {path}"))
}

/// Returns the head of a request that pushes a record of this length.
pub fn push_head(length: usize) -> String {
    format!(
        "POST /records HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, "GET", path, &[], b"")
}

pub fn post(address: SocketAddr, path: &str, body: &[u8]) -> Answer {
    ask(address, "POST", path, &["content-type: application/json"], body)
}

/// Parses an answer; chunks are joined.
pub fn answer(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ").or_else(|| head.strip_prefix("HTTP/1.0 "))?.get(..3)?.parse().ok()?;
    let body = bytes[end + 4..].to_vec();
    Some(Answer { status, head, body })
}

/// Reads until this word has arrived.
pub fn until(stream: &mut TcpStream, word: &str) -> String {
    let (mut received, mut bytes) = (String::new(), [0; 4_096]);
    while !received.contains(word) {
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "it ended without {word:?}: {received}");
        received += &String::from_utf8_lossy(&bytes[..length]);
    }
    received
}
