//! `contend fetch` from hosts that try to make it run forever, or to fill the memory.

use crate::command::{self, Place, Server};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Answers each request of each connection with `answers`, which receives the request's head.
fn host(answers: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, answers) = (listener.local_addr().unwrap(), Arc::new(answers));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answers = Arc::clone(&answers);
            thread::spawn(move || {
                let mut bytes = [0; 4_096];
                let length = stream.read(&mut bytes).unwrap_or(0);
                answers(&String::from_utf8_lossy(&bytes[..length]), &mut stream);
            });
        }
    });
    address
}

fn head(status: &str, headers: &str, length: usize) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n").into_bytes()
}

fn response(content: &[u8]) -> Vec<u8> {
    [&head("200 OK", "", content.len()), content].concat()
}

/// Returns the list that an archive with this many records would send; none of them exists.
fn list_of(records: usize) -> Vec<u8> {
    let place = Place::with(1);
    let entry = serde_json::to_value(&place.open().listing().unwrap().entries[0]).unwrap();
    let named = |number: usize| {
        let mut entry = entry.clone();
        entry["id"] = json!(id(number));
        entry
    };
    serde_json::to_vec(&(0..records).map(named).collect::<Vec<Value>>()).unwrap()
}

fn id(number: usize) -> String {
    format!("{number:040x}")
}

/// Starts such a host, which answers a request for a record with `record`.
fn host_of(records: usize, record: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let list = response(&list_of(records));
    host(move |request, stream| match request.starts_with("GET /records ") {
        true => drop(stream.write_all(&list)),
        false => record(request, stream),
    })
}

/// Fetches in at most 800 MB of address space.
///
/// A fetch that does not end is killed, and fails the test.
fn fetched(place: &Place, arguments: &[&str]) -> Output {
    let fetch = command::fetch_command(&place.archive, arguments);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 800000; exec \"$@\"", "sh"]).arg(fetch.get_program()).args(fetch.get_args());
    let child = limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let (ended, is_ended) = std::sync::mpsc::channel();
    let watchdog = thread::spawn(move || {
        let is_late = is_ended.recv_timeout(command::HANGS).is_err();
        if is_late {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        is_late
    });
    let output = child.wait_with_output().unwrap();
    let _ = ended.send(());
    assert!(!watchdog.join().unwrap(), "it did not end: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn refusal(place: &Place, arguments: &[&str]) -> String {
    let output = fetched(place, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    stderr
}

/// Sends a byte now and then, for as long as the other side reads.
fn drip(stream: &mut TcpStream) {
    while stream.write_all(b" ").is_ok() {
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_record_sent_byte_by_byte_ends_the_host() {
    let address = host_of(3, |_, stream| {
        let _ = stream.write_all(&head("200 OK", "", 1 << 20));
        drip(stream);
    });
    let stderr = refusal(&Place::new(), &[&address.to_string(), "--within", "5s"]);
    assert!(stderr.contains("record 0000000000: not received within 0.5 s"), "{stderr}");
}

#[test]
fn a_list_sent_byte_by_byte_ends_the_host() {
    let address = host(|_, stream| {
        let _ = stream.write_all(&head("200 OK", "", 1 << 20));
        drip(stream);
    });
    let stderr = refusal(&Place::new(), &[&address.to_string(), "--within", "5s"]);
    assert!(stderr.contains("the list of records: not received within 0.5 s"), "{stderr}");
}

#[test]
fn interim_responses_without_end_end_the_host() {
    let address =
        host_of(3, |_, stream| while stream.write_all(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(64)).is_ok() {});
    let stderr = refusal(&Place::new(), &[&address.to_string(), "--within", "5s"]);
    assert!(stderr.contains("not received within"), "{stderr}");
}

/// Each record arrives fast enough, but there is no end of them.
#[test]
fn time_limit_of_a_host_covers_all_its_records() {
    let other = Arc::new(command::portable(90));
    let address = host_of(2_000, move |request, stream| {
        let id = request.split(['/', ' ']).nth(3).unwrap_or_default();
        let sent = json!({ "id": id, "commit": other.commit, "manifest": other.manifest, "record": other.record });
        thread::sleep(Duration::from_millis(20));
        let _ = stream.write_all(&response(sent.to_string().as_bytes()));
    });
    let stderr = refusal(&Place::new(), &[&address.to_string(), "--within", "5s"]);
    assert!(stderr.contains("within the 5 s of --within"), "{stderr}");
    assert!(stderr.lines().count() < 30, "each refusal has a line: {stderr}");
}

/// The host breaks off every answer, and sends another part than the requested one, so that the fetch begins again.
#[test]
fn six_tries_without_a_new_byte_end_the_host() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = host_of(1, move |request, stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        let answer = match request.contains("range:") {
            true => head("206 Partial Content", "content-range: bytes 1-2/3\r\n", 2),
            false => [&head("200 OK", "", 1 << 20)[..], &[b' '; 5_000]].concat(),
        };
        let _ = stream.write_all(&answer);
    });
    let stderr = refusal(&Place::new(), &[&address.to_string()]);
    assert!(stderr.contains("gave up after 6 attempts"), "{stderr}");
    let requests = requests.load(Ordering::Relaxed);
    assert!(requests <= 12, "{requests} requests");
}

#[test]
fn a_hostile_host_costs_the_others_nothing() {
    let (good, local) = (Place::with(3), Place::new());
    let server = Server::start(&good.archive, &[]);
    let bad = host_of(3, |_, stream| {
        let _ = stream.write_all(&head("200 OK", "", 1 << 20));
        drip(stream);
    });
    let output = fetched(&local, &[&format!("{bad},{}", server.url()), "--within", "5s"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("failed") && table.contains("done"), "{table}");
    assert_eq!(local.ids(), good.ids());
}

/// Forty-six MiB for each of a hundred manifests: too large for the archive, and for the memory if they were collected.
#[test]
fn manifests_too_large_for_the_archive_are_not_collected() {
    let address = host_of(100, |request, stream| {
        let id = request.split(['/', ' ']).nth(3).unwrap_or_default();
        let manifest = "m".repeat(46 << 20);
        let sent = format!("{{\"id\":\"{id}\",\"commit\":\"\",\"manifest\":\"{manifest}\",\"record\":\"\"}}");
        let _ = stream.write_all(&response(sent.as_bytes()));
    });
    let stderr = refusal(&Place::new(), &[&address.to_string()]);
    assert!(stderr.contains("its manifest is too large: 48234496 bytes; allowed: 1048576"), "{stderr}");
}

/// Text of a few bytes becomes a value of many bytes.
#[test]
fn a_list_of_too_many_values_is_refused() {
    let list = [&b"["[..], &b"\"\",".repeat(6 << 20), b"\"\"]"].concat();
    let list = response(&list);
    let address = host(move |_, stream| drop(stream.write_all(&list)));
    let stderr = refusal(&Place::new(), &[&address.to_string()]);
    assert!(stderr.contains("more than 4000000 values"), "{stderr}");
}
