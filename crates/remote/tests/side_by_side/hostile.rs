//! Hostile clients: the server answers or closes the connection, uses no more memory than documented, and valid
//! requests are still answered.

use crate::command::{Place, Server, answer, connect, get, push_head, raw, times};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The limit in docs/serve.md for 1,024 connections.
const MOST_KIB: u64 = 512 << 10;

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

/// Raises the limit of file descriptors for the connections of the test itself.
fn allow(files: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < files) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum: limit.maximum }).unwrap();
    }
}

/// Sends an endless request byte by byte on all connections, until it is to end; returns their number.
fn drip(mut slow: Vec<TcpStream>, ends: &AtomicBool) -> usize {
    for byte in b"GET /records HTTP/1.1\r\nhost: localhost\r\nx: ".iter().chain(std::iter::repeat(&b'y')) {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        for stream in &mut slow {
            let _ = stream.write_all(&[*byte]);
        }
        thread::sleep(Duration::from_millis(50));
    }
    slow.len()
}

/// A tenth of the clients send a request byte by byte; the others send nothing.
#[test]
fn slow_and_idle_clients_do_not_block_requests() {
    let crowd = times("CONTEND_CROWD", 1_000);
    allow(crowd as u64 + 500);
    let place = Place::with(3);
    // The server has room for fewer clients than connect.
    let room = (crowd / 2).min(1_024).to_string();
    let mut server = Server::start(&place.archive, &["--connections", &room]);
    let mut silent: Vec<TcpStream> = (0..crowd - crowd / 10).map(|_| connect(server.address)).collect();
    let slow: Vec<TcpStream> = (0..crowd / 10).map(|_| connect(server.address)).collect();
    let ends = Arc::new(AtomicBool::new(false));
    let dripping = {
        let ends = Arc::clone(&ends);
        thread::spawn(move || drip(slow, &ends))
    };
    let mut times_taken: Vec<Duration> = (0..60)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(get(server.address, "/records").status, 200);
            began.elapsed()
        })
        .collect();
    times_taken.sort();
    ends.store(true, Ordering::Relaxed);
    let slow = dripping.join().unwrap();
    println!(
        "{crowd} connections, {slow} of them slow: honest requests {:?} (median), {:?} (longest), {} KiB at most",
        times_taken[times_taken.len() / 2],
        times_taken[times_taken.len() - 1],
        server.most_kib()
    );
    assert!(server.is_alive());
    assert!(server.most_kib() < MOST_KIB, "{} KiB", server.most_kib());
    silent.iter_mut().for_each(|stream| drop(stream.set_read_timeout(Some(Duration::from_millis(1)))));
    let cut = silent.iter().filter(|stream| matches!((&mut &**stream).read(&mut [0]), Ok(0))).count();
    assert!(cut >= crowd / 3, "only {cut} had to go");
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
