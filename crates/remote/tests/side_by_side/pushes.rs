//! A server that is killed while a record is sent to it.

use crate::command::http::{post, push_head};
use crate::command::{self, Place, Server, portable, times};
use rustix::process::{Signal, kill_process};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// Whatever the moment: every record that was reported as stored exists, every record is valid, and the next server
/// accepts more.
#[test]
fn a_kill_at_any_moment_leaves_an_archive_that_verifies() {
    let place = Place::with(1);
    let kills = times("CONTEND_PUSH_KILLS", 6);
    let mut random = fastrand::Rng::with_seed(7);
    let all: Vec<archive::PortableRecord> = (0..kills as u64).map(|seed| portable(1_000 + seed)).collect();
    let mut acknowledged = Vec::new();
    for sent in &all {
        let server = Server::start(&place.archive, &["--accept"]);
        let (address, id) = (server.address, server.pid());
        let bytes = serde_json::to_vec(sent).unwrap();
        // From before the record has arrived to after it is stored.
        let moment = Duration::from_micros(random.u64(..500_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            kill_process(id, Signal::KILL).unwrap();
        });
        let head = push_head(bytes.len());
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(&[head.as_bytes(), &bytes].concat());
        let received = String::from_utf8_lossy(&command::rest(&mut stream)).into_owned();
        killer.join().unwrap();
        if received.contains("\"kept\":true") {
            acknowledged.push(sent.id.clone());
        }
        place.quiet();
        place.verify();
        let stored_ids = place.ids();
        assert!(acknowledged.iter().all(|id| stored_ids.contains(id)), "a record that was said to be kept is gone");
    }
    println!("{kills} kills: {} were kept before", acknowledged.len());
    let server = Server::start(&place.archive, &["--accept"]);
    for sent in &all {
        let status = post(server.address, "/records", &serde_json::to_vec(sent).unwrap()).status;
        assert!(matches!(status, 200 | 201), "{status}");
    }
    assert_eq!(place.verify(), 1 + kills);
    let left = std::fs::read_dir(&place.archive).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_str().unwrap().starts_with("incoming-")), "half a push is left");
}
