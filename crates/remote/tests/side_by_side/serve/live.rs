//! The feed of the runs of the server itself.

use crate::command::http::{connect, get, post, until};
use crate::command::{Place, Server, waited_for};
use std::io::Write;

#[test]
fn run_is_streamed_live_and_its_record_is_stored() {
    let contend = std::path::Path::new(env!("CARGO_BIN_EXE_contend-serve")).with_file_name("contend");
    if !contend.exists() {
        return println!("skipped: needs contend beside contend-serve");
    }
    let place = Place::new();
    let call = "model frames --frame 1ms --quantum 1ms";
    let server = Server::start(&place.archive, &["--run", call]);
    let mut stream = connect(server.address);
    stream.write_all(b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(until(&mut stream, "event: idle").contains("200 OK"));
    let started = post(server.address, "/live", format!("{{\"run\":\"{call}\"}}").as_bytes());
    assert_eq!(started.status, 202, "{}", started.text());
    let received = until(&mut stream, "\"status\":0");
    assert!(received.contains("event: started") && received.contains("event: line"), "{received}");
    let id = place.ids().pop().expect("its record is kept");
    assert!(received.contains(&id) && received.contains("\"status\":0"), "{received}");
    assert_eq!(post(server.address, "/live", br#"{"run":"clock"}"#).status, 403);
    let page = get(server.address, &format!("/records/{id}/page"));
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("model frames") && page.header("content-security-policy").is_some());
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
