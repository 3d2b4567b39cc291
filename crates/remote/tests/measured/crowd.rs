//! More clients than the server has room for, nearly all of them idle or slow.

use crate::command::{MOST_KIB, Place, Server, connect, get, times};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
