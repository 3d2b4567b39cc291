//! `contend fetch`: records of another machine arrive byte for byte, whatever happens on the network.

use crate::command::{self, Place, Proxy, Server, assert_same, fetch_command, fetched, not_fetched, times, waited_for};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::{fs, thread};

#[test]
fn every_record_is_fetched_once() {
    let (remote, local) = (Place::with(3), Place::new());
    let server = Server::start(&remote.archive, &[]);
    let table = fetched(&local.archive, &[&server.url()]);
    assert!(table.contains("one"), "{table}");
    assert_same(&remote, &local);
    let again = fetched(&local.archive, &[&server.url()]);
    let row: Vec<&str> = again.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(row[1..4], ["3", "0", "0"], "{again}");
}

#[test]
fn record_is_fetched_by_its_name_or_experiment() {
    let remote = Place::with(3);
    let latency = command::keep(&remote.open(), &command::record_of("latency", 9));
    let ids = remote.ids();
    let server = Server::start(&remote.archive, &[]);
    for (what, expected) in [
        ("last", vec![ids[3].clone()]),
        ("last~1", vec![ids[2].clone()]),
        (&ids[0][..8], vec![ids[0].clone()]),
        ("latency", vec![latency]),
    ] {
        let local = Place::new();
        fetched(&local.archive, &[&server.url(), what]);
        assert_eq!(local.ids(), expected, "{what}");
    }
    assert!(not_fetched(&Place::new().archive, &[&server.url(), "last~9"], 1).contains("only 4"));
}

/// The proxy breaks within records, lists and heads: everything arrives in the end, and the expected number of breaks
/// happened.
#[test]
fn interrupted_answer_continues_where_it_stopped() {
    let (records, breaks) = (times("CONTEND_FETCH_RECORDS", 12), times("CONTEND_FETCH_BREAKS", 8));
    let (remote, local) = (Place::with(records), Place::new());
    let server = Server::start(&remote.archive, &[]);
    let size = remote.open().portable(&remote.ids()[0]).unwrap().record.len();
    let total = size * records;
    // Each connection ends elsewhere, and together they reach about half of it; the first has the list too.
    let after = move |place: usize| {
        let list = if place == 0 { 500 * records } else { 0 };
        list + total / (2 * breaks) + place * 977 % (size / 2)
    };
    let proxy = Proxy::to(server.address, breaks, after);
    fetched(&local.archive, &[&proxy.address.to_string()]);
    assert_same(&remote, &local);
    assert_eq!(proxy.breaks(), breaks);
}

#[test]
fn absent_host_does_not_delay_the_other_hosts() {
    let (one, two, local) = (Place::with(2), Place::new(), Place::new());
    command::keep(&two.open(), &command::record(50));
    let servers = [Server::start(&one.archive, &[]), Server::start(&two.archive, &[])];
    let unused_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hosts = format!("{},{},{unused_port}", servers[0].url(), servers[1].url());
    let output = fetch_command(&local.archive, &[&hosts]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (table, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stderr.contains(&unused_port.to_string()) && stderr.contains("cannot connect"), "{stderr}");
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("done") || line.contains("failed")).collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert_eq!(local.verify(), 3);
}

/// Answers every request with this text.
fn pretender(answer_to: impl Fn(&str) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4_096];
            let length = stream.read(&mut bytes).unwrap_or(0);
            let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let _ = stream.write_all(&answer_to(request.split(' ').nth(1).unwrap_or_default()));
        }
    });
    address
}

fn answered(content: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", content.len()).as_bytes(), content]
        .concat()
}

#[test]
fn invalid_answers_are_reported_and_not_stored() {
    let local = Place::new();
    let good = Place::with(1);
    let (id, portable) = (good.ids().pop().unwrap(), good.open().portable(&good.ids()[0]).unwrap());
    let list = serde_json::to_vec(&good.open().listing().unwrap().entries).unwrap();
    let sent = serde_json::to_vec(&portable).unwrap();
    let with = |content: Vec<u8>| {
        let list = list.clone();
        pretender(move |path| answered(if path == "/records" { &list } else { &content }))
    };
    let mut changed = portable.clone();
    changed.record = changed.record.replacen("0.", "1.", 1);
    let mut other = command::portable(99);
    other.id.clone_from(&id);
    let short = {
        let list = list.clone();
        let sent = sent.clone();
        pretender(move |path| {
            let all = answered(if path == "/records" { &list } else { &sent });
            if path == "/records" { all } else { all[..all.len() / 2].replace_length(sent.len() * 2) }
        })
    };
    for (address, word) in [
        (pretender(|_| b"SSH-2.0-OpenSSH\r\n\x00\x01garbage\r\n\r\n".to_vec()), "not `contend serve`"),
        (pretender(|_| answered(b"<html>")), "did not send a list of records"),
        (pretender(|_| answered(br#"[{"id":"../../x"}]"#)), "did not send a list of records"),
        (with(b"garbage".to_vec()), "did not send a record"),
        (with(serde_json::to_vec(&changed).unwrap()), "modified in transit"),
        (with(serde_json::to_vec(&other).unwrap()), "modified in transit"),
        (with(serde_json::to_vec(&command::portable(98)).unwrap()), "the server sent record"),
        (short, "gave up after"),
    ] {
        let message = not_fetched(&local.archive, &[&address.to_string()], 1);
        assert!(message.contains(word), "{word}: {message}");
        assert_eq!(local.verify(), 0, "{word}");
    }
    let unused_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert!(not_fetched(&local.archive, &[&unused_port], 1).contains("cannot connect"));
    assert!(not_fetched(&local.archive, &["no-such-host.invalid"], 1).contains("no-such-host.invalid"));
    assert!(not_fetched(&local.archive, &["a b"], 2).contains("not a host"));
}

/// An answer whose head claims twice its length.
trait WithLength {
    fn replace_length(&self, length: usize) -> Vec<u8>;
}

impl WithLength for [u8] {
    fn replace_length(&self, length: usize) -> Vec<u8> {
        let end = self.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}");
        [head.as_bytes(), &self[end..]].concat()
    }
}

#[test]
fn encrypted_server_is_trusted_only_by_its_fingerprint() {
    let (remote, local) = (Place::with(1), Place::new());
    let server = Server::start(&remote.archive, &["--tls"]);
    let url = format!("https://{}", server.url());
    let message = not_fetched(&local.archive, &[&url], 1);
    assert!(message.contains(&server.fingerprint()), "it is told what to look for: {message}");
    let other = format!("SHA256:{}", "0".repeat(64));
    assert!(not_fetched(&local.archive, &[&url, "--fingerprint", &other], 1).contains("not trusted"));
    fetched(&local.archive, &[&url, "--fingerprint", &server.fingerprint()]);
    assert_same(&remote, &local);
    // A request without TLS gets no answer.
    not_fetched(&local.archive, &[&server.url()], 1);
    // The certificate is the same the next time, from a file that only the owner may read.
    let before = server.fingerprint();
    drop(server);
    assert_eq!(Server::start(&remote.archive, &["--tls"]).fingerprint(), before);
    assert_eq!(remote.beside("serve.pem").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

fn pem(place: &Place, name: &str, content: &str) -> String {
    let file = place.beside(name);
    fs::write(&file, content).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn an_expired_certificate_is_refused_on_either_side() {
    let (remote, local) = (Place::with(1), Place::new());
    let mut old = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    old.not_before = rcgen::date_time_ymd(2001, 1, 1);
    old.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let old = old.self_signed(&key).unwrap();
    let (certificate, key) = (pem(&remote, "old.pem", &old.pem()), pem(&remote, "key.pem", &key.serialize_pem()));
    let message = command::refused(&remote.archive, &["--certificate", &certificate, "--key", &key], 1);
    assert!(message.contains("not valid today") && message.contains("xpired"), "{message}");
    let message =
        not_fetched(&local.archive, &["https://localhost:1", "--certificate", &certificate, "--key", &key], 1);
    assert!(message.contains("not valid today"), "{message}");
}

#[test]
fn client_certificate_is_required() {
    let (remote, local) = (Place::with(1), Place::new());
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let client_key = rcgen::KeyPair::generate().unwrap();
    let client =
        rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap().signed_by(&client_key, &issuer).unwrap();
    let ca = pem(&remote, "ca.pem", &authority_pem);
    let (certificate, key) = (pem(&local, "c.pem", &client.pem()), pem(&local, "k.pem", &client_key.serialize_pem()));
    let server = Server::start(&remote.archive, &["--client-ca", &ca]);
    let url = format!("https://{}", server.url());
    let fingerprint = server.fingerprint();
    not_fetched(&local.archive, &[&url, "--fingerprint", &fingerprint], 1);
    fetched(&local.archive, &[&url, "--fingerprint", &fingerprint, "--certificate", &certificate, "--key", &key]);
    assert_same(&remote, &local);
}

#[test]
fn a_token_is_sent_and_a_wrong_one_is_refused() {
    let (remote, local) = (Place::with(1), Place::new());
    let token = remote.beside("token");
    let server = Server::start(&remote.archive, &["--token-file", token.to_str().unwrap()]);
    assert!(not_fetched(&local.archive, &[&server.url()], 1).contains("missing or wrong token"));
    let wrong = local.beside("wrong");
    fs::write(&wrong, "x".repeat(64)).unwrap();
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(not_fetched(&local.archive, &[&server.url(), "--token-file", wrong.to_str().unwrap()], 1).contains("401"));
    fetched(&local.archive, &[&server.url(), "--token-file", token.to_str().unwrap()]);
    assert_same(&remote, &local);
}

#[test]
fn remote_run_is_shown_live() {
    let contend = std::path::Path::new(env!("CARGO_BIN_EXE_contend-serve")).with_file_name("contend");
    if !contend.exists() {
        return println!("skipped: needs contend beside contend-serve");
    }
    let (remote, local) = (Place::new(), Place::new());
    let call = "model frames --frame 1ms --quantum 1ms";
    let server = Server::start(&remote.archive, &["--run", call]);
    let message = fetched(&local.archive, &[&server.url(), "--live", call]);
    let shown = Command::new(contend).args(call.split(' ')).arg("--no-keep").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let first = shown.lines().find(|line| line.len() > 10).unwrap();
    assert!(message.starts_with(&format!("contend {call}")) && message.contains(first), "{message}");
    waited_for(|| (remote.ids().len() == 1).then_some(()));
    assert!(
        not_fetched(&local.archive, &[&server.url(), "--live", "clock"], 1)
            .contains("not an experiment of this server")
    );
}
