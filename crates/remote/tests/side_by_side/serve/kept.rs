//! The pushed records that are stored.

use crate::command::http::{answer, ask, connect, get, post, push_head, raw};
use crate::command::{self, Place, Server, portable, record, waited_for};
use serde_json::{Value, json};
use std::io::Write;

#[test]
fn push_needs_accept_and_start_needs_run() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &[]);
    let sent = serde_json::to_vec(&portable(77)).unwrap();
    assert_eq!(post(server.address, "/records", &sent).status, 403);
    assert_eq!(post(server.address, "/live", br#"{"run":"clock"}"#).status, 403);
    assert_eq!(place.ids().len(), 1);
}

#[test]
fn pushed_record_is_stored_unchanged_and_once() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let sent = portable(77);
    let bytes = serde_json::to_vec(&sent).unwrap();
    let first = post(server.address, "/records", &bytes);
    assert_eq!((first.status, first.json()), (201, json!({ "id": sent.id, "kept": true })));
    assert_eq!(post(server.address, "/records", &bytes).status, 200);
    assert_eq!(place.open().record(&sent.id).unwrap(), sent.record.as_bytes());
    assert_eq!(place.verify(), 2);
}

/// Each differs in one thing from a record that would be stored.
#[test]
fn record_that_does_not_match_its_name_is_not_stored() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let good = serde_json::to_value(portable(77)).unwrap();
    let changed = |field: &str, value: String| {
        let mut sent = good.clone();
        sent[field] = json!(value);
        sent
    };
    let text = |field: &str| good[field].as_str().unwrap().to_owned();
    let mut wrong = vec![
        changed("record", text("record").replacen("0.", "1.", 1)),
        changed("record", text("record") + " "),
        changed("manifest", text("manifest") + "\n"),
        changed("commit", text("commit").replacen("noise", "noisy", 1)),
        changed("commit", String::new()),
        changed("commit", "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nx\n\n{}\n".into()),
        changed("id", "0".repeat(40)),
        changed("id", "../../etc/passwd".into()),
        changed("id", format!("{}\n", text("id"))),
        json!({ "id": text("id") }),
        json!([]),
    ];
    wrong.push({
        let mut more = good.clone();
        more["more"] = json!(1);
        more
    });
    for sent in &wrong {
        let answer = post(server.address, "/records", sent.to_string().as_bytes());
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(answer.json()["error"].is_string());
    }
    for bytes in [&b""[..], b"garbage", b"{\"id\":", &[0xff; 100]] {
        assert_eq!(post(server.address, "/records", bytes).status, 422);
    }
    assert_eq!(place.verify(), 1);
    // The server is still working: the good one is stored.
    assert_eq!(post(server.address, "/records", good.to_string().as_bytes()).status, 201);
}

/// A record whose commit and hashes are right, but whose content is of another kind.
#[test]
fn unreadable_record_is_not_stored() {
    let (place, other) = (Place::with(1), Place::new());
    let mut lies = record(5);
    lies["environment"]["seed"] = json!(6);
    let honest = command::keep(&other.open(), &lies);
    let commit = other.open().portable(&honest).unwrap();
    let server = Server::start(&place.archive, &["--accept"]);
    // The summary of one run with the record of another, all hashes right.
    let archive = other.open();
    let build = archive::Build { revision: None, compiler: None, profile: None, target: None };
    let manifest = archive::Manifest::of_this_run(build, |_| None);
    let typed: record::Record<Value, Value> = serde_json::from_value(record(1)).unwrap();
    let summary = archive::Summary::of(&typed, &manifest, 1);
    for content in [lies.to_string(), "{}".into(), "no JSON".into(), "[".repeat(300_000)] {
        let Ok(id) = archive.append(content.as_bytes(), &manifest, &summary) else { continue };
        let sent = serde_json::to_vec(&archive.portable(&id).unwrap()).unwrap();
        assert_eq!(post(server.address, "/records", &sent).status, 422, "{}", &content[..content.len().min(40)]);
    }
    assert_eq!(place.verify(), 1);
    assert_eq!(post(server.address, "/records", &serde_json::to_vec(&commit).unwrap()).status, 201);
}

#[test]
fn oversized_or_truncated_record_is_refused() {
    let place = Place::new();
    let server = Server::start(&place.archive, &["--accept"]);
    let large = raw(server.address, push_head(1 << 40).as_bytes());
    assert_eq!(answer(&large).unwrap().status, 413);
    // A wrong length.
    let short = raw(server.address, (push_head(100) + "{}").as_bytes());
    assert!(answer(&short).is_none_or(|answer| answer.status == 400), "{}", String::from_utf8_lossy(&short));
    let headers = format!("x: {}", "y".repeat(20_000));
    assert_eq!(ask(server.address, "GET", "/records", &[&headers], b"").status, 431);
    assert_eq!(place.verify(), 0);
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

/// The list and the metrics report the machine that is in the record's own manifest.
#[test]
fn record_whose_summary_names_another_host_is_not_stored() {
    let (place, other) = (Place::new(), Place::new());
    let server = Server::start(&place.archive, &["--accept"]);
    let archive = other.open();
    let build = archive::Build { revision: None, compiler: None, profile: None, target: None };
    let manifest = archive::Manifest { host: "one".into(), ..archive::Manifest::of_this_run(build, |_| None) };
    let typed: record::Record<Value, Value> = serde_json::from_value(record(1)).unwrap();
    let mut summary = archive::Summary::of(&typed, &manifest, 1);
    summary.host = "another".into();
    let id = archive.append(record(1).to_string().as_bytes(), &manifest, &summary).unwrap();
    let sent = post(server.address, "/records", &serde_json::to_vec(&archive.portable(&id).unwrap()).unwrap());
    assert_eq!(sent.status, 422);
    assert!(sent.text().contains("its summary names the host \\\"another\\\""), "{}", sent.text());
    assert_eq!(place.verify(), 0);
}
