//! Hostile clients: the server answers or closes the connection, uses no more memory than documented, and valid
//! requests are still answered.

use crate::command::{MOST_KIB, Place, Server, answer, connect, get, push_head, raw, times};
use std::io::Write;
use std::net::TcpStream;
use std::thread;

fn random_bytes(random: &mut fastrand::Rng, most: usize) -> Vec<u8> {
    (0..random.usize(..most)).map(|_| random.u8(..)).collect()
}

/// Pieces that may be anywhere in a request.
const WORDS: [&[u8]; 20] = [
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\0",
    b":",
    b"content-length: -1\r\n",
    b"content-length: 99999999999999999999\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: gzip, chunked\r\n",
    b"ffffffffffffffff\r\n",
    b"HTTP/9.9",
    b"\xff\xfe",
    b"range: bytes=18446744073709551615-\r\n",
    b"range: bytes=-1\r\n",
    b"expect: 100-continue\r\n",
    b"upgrade: h2c\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"host: x\r\n",
];

/// Returns a valid request, changed in some places or in none.
fn malformed(random: &mut fastrand::Rng, id: &str) -> Vec<u8> {
    let starts = [
        format!("GET /records/{id} HTTP/1.1\r\nhost: localhost\r\nrange: bytes=0-\r\n\r\n"),
        "GET /metrics HTTP/1.1\r\nhost: localhost\r\naccept: application/openmetrics-text\r\n\r\n".to_owned(),
        push_head(2) + "{}",
        "POST /records HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".into(),
        "POST /live HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"run\":\"load\"}".into(),
    ];
    let mut bytes = starts[random.usize(..starts.len())].clone().into_bytes();
    for _ in 0..random.usize(1..5) {
        let place = random.usize(..=bytes.len());
        match random.u8(..7) {
            0 => bytes.truncate(place),
            1 => drop(bytes.splice(place..place, WORDS[random.usize(..WORDS.len())].iter().copied())),
            2 => drop(bytes.splice(place..place, random_bytes(random, 200))),
            3 if place < bytes.len() => bytes[place] = random.u8(..),
            4 => bytes = random_bytes(random, 2_000),
            5 => drop(bytes.splice(place..place, vec![b'a'; random.usize(..40_000)])),
            _ => bytes.extend_from_within(..place),
        }
    }
    bytes
}

#[test]
fn malformed_requests_are_answered_or_disconnected() {
    let place = Place::with(1);
    let mut server = Server::start(&place.archive, &["--accept", "--run", "clock --seconds 1"]);
    let (address, id) = (server.address, place.ids().pop().unwrap());
    let each = times("CONTEND_MALFORMED", 3_000) / 4;
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let id = id.clone();
            thread::spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..each {
                    let sent = malformed(&mut random, &id);
                    let answered = raw(address, &sent);
                    let status = answer(&answered).map(|answer| answer.status);
                    let is_known = status.is_none_or(|status| (100..=503).contains(&status) && status != 500);
                    assert!(is_known, "{status:?} to {}", String::from_utf8_lossy(&sent));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(get(address, &format!("/records/{id}")).status, 200);
    assert!(server.is_alive());
    assert!(server.most_kib() < MOST_KIB, "{} KiB", server.most_kib());
    println!("{} malformed requests: {} KiB at most", 4 * each, server.most_kib());
    assert_eq!(place.verify(), 1);
}

/// A client that requests much and reads nothing holds no more than the memory that all clients share.
#[test]
fn memory_of_unread_answers_is_bounded() {
    let place = Place::new();
    let mut large = crate::command::record(1);
    large["parameters"]["padding"] = serde_json::json!("x".repeat(6 << 20));
    let id = crate::command::keep(&place.open(), &large);
    let mut server = Server::start(&place.archive, &[]);
    let request = format!("GET /records/{id} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let takers: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = connect(server.address);
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(get(server.address, "/records").status, 200);
    }
    assert!(server.is_alive());
    assert!(server.most_kib() < MOST_KIB, "{} KiB", server.most_kib());
    println!("{} who take nothing: {} KiB at most", takers.len(), server.most_kib());
}
