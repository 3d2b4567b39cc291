//! Servers and clients that are ended or killed at any moment: no record that was reported as stored is lost.

use crate::command::{
    self, Place, Server, answer, assert_same, connect, fetch_command, fetched, get, portable, post, push_head, times,
    waited_for,
};
use rustix::process::{Signal, kill_process};
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// A killed fetch leaves a valid archive, and the next one continues.
#[test]
fn a_killed_fetch_leaves_a_sound_archive() {
    let (remote, local) = (Place::with(8), Place::new());
    let server = Server::start(&remote.archive, &[]);
    for delay in [5, 20, 60, 120, 200] {
        let mut child =
            fetch_command(&local.archive, &[&server.url()]).stdout(std::process::Stdio::null()).spawn().unwrap();
        thread::sleep(std::time::Duration::from_millis(delay));
        let _ = child.kill();
        let _ = child.wait();
        if local.archive.exists() {
            local.quiet();
            local.verify();
        }
    }
    fetched(&local.archive, &[&server.url()]);
    assert_same(&remote, &local);
}

#[test]
fn open_request_is_finished_after_a_signal() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let address = server.address;
    let sent = serde_json::to_vec(&portable(77)).unwrap();
    let mut stream = connect(address);
    let head = push_head(sent.len());
    stream.write_all(&[head.as_bytes(), &sent[..100]].concat()).unwrap();
    // Once the list has been answered, this request is being answered too.
    assert_eq!(get(address, "/records").status, 200);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let ending = std::thread::spawn(move || server.end());
    waited_for(|| std::net::TcpStream::connect(address).err());
    stream.write_all(&sent[100..]).unwrap();
    let answered = answer(&command::rest(&mut stream)).unwrap();
    assert_eq!(answered.status, 201, "{}", answered.text());
    assert_eq!(ending.join().unwrap(), Some(0));
    assert_eq!(place.verify(), 2);
}

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

/// Nothing else would stop the run, and the next server would measure while it runs.
#[test]
fn an_experiment_does_not_outlive_a_killed_server() {
    let contend = std::path::Path::new(env!("CARGO_BIN_EXE_contend-serve")).with_file_name("contend");
    if !contend.exists() {
        return println!("skipped: needs contend beside contend-serve");
    }
    let place = Place::new();
    let call = "load --seconds 600 --format json";
    let server = Server::start(&place.archive, &["--run", call]);
    let started = post(server.address, "/live", format!("{{\"run\":\"{call}\"}}").as_bytes());
    assert_eq!(started.status, 202, "{}", started.text());
    let parent = server.pid().as_raw_pid().to_string();
    let child = waited_for(|| child_of(&parent));
    // The child catches the signal from then on.
    std::thread::sleep(std::time::Duration::from_millis(500));
    rustix::process::kill_process(server.pid(), rustix::process::Signal::KILL).unwrap();
    waited_for(|| (!is_running(&child)).then_some(()));
}

/// Returns the fields behind a process's name in its `stat`: its state, its parent, and others.
fn fields(process: &str) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

fn child_of(parent: &str) -> Option<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut names = all.filter_map(|entry| entry.file_name().into_string().ok());
    names.find(|name| fields(name).is_some_and(|fields| fields[1] == parent && fields[0] != "Z"))
}

/// Returns whether the process runs; one that has ended but was not waited for does not.
fn is_running(process: &str) -> bool {
    fields(process).is_some_and(|fields| fields[0] != "Z")
}
