//! `contend serve`, as its clients see it.

use crate::command::{
    self, Place, Server, answer, ask, connect, get, keep_from, portable, post, push_head, raw, record, record_of,
    refused, rest, until, varied_place,
};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

fn token_in(place: &Place, mode: u32) -> String {
    let file = place.beside("token");
    fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn records_are_listed_and_returned_byte_for_byte() {
    let place = Place::with(3);
    let server = Server::start(&place.archive, &[]);
    let list = get(server.address, "/records").json();
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, place.ids());
    for id in ids {
        let path = format!("/records/{id}");
        let answered = get(server.address, &path);
        assert_eq!((answered.status, answered.body), (200, place.open().record(id).unwrap()));
        let rest = ask(server.address, "GET", &path, &["range: bytes=100-"], b"");
        assert_eq!((rest.status, &rest.body[..]), (206, &place.open().record(id).unwrap()[100..]));
    }
    assert_eq!(get(server.address, &format!("/records/{}", "0".repeat(40))).status, 404);
}

#[test]
fn token_is_required_if_one_is_configured() {
    let place = Place::with(1);
    let token = token_in(&place, 0o600);
    let server = Server::start(&place.archive, &["--token-file", &token]);
    let status = |headers: &[&str]| ask(server.address, "GET", "/records", headers, b"").status;
    assert_eq!(status(&["authorization: Bearer 0123456789abcdef0123456789abcdef"]), 200);
    for wrong in [
        "x: y",
        "authorization: Bearer 0123456789abcdef0123456789abcdeF",
        "authorization: Bearer 0123456789abcdef0123456789abcde",
        "authorization: Bearer ",
        "authorization: Basic 0123456789abcdef0123456789abcdef",
        "authorization:",
    ] {
        assert_eq!(status(&[wrong]), 401, "{wrong}");
    }
    // A client without a token receives no information.
    assert_eq!(get(server.address, "/nothing").status, 401);
}

#[test]
fn readable_token_file_is_refused_and_missing_one_created() {
    let place = Place::new();
    let open = token_in(&place, 0o640);
    assert!(refused(&place.archive, &["--token-file", &open], 1).contains("chmod 600"));
    let new = place.beside("new");
    let server = Server::start(&place.archive, &["--token-file", new.to_str().unwrap()]);
    let token = fs::read_to_string(&new).unwrap();
    assert_eq!(new.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let header = format!("authorization: Bearer {}", token.trim());
    assert_eq!(ask(server.address, "GET", "/records", &[&header], b"").status, 200);
}

#[test]
fn other_machines_are_answered_only_with_credentials() {
    let place = Place::new();
    let message = refused(&place.archive, &["--listen", "0.0.0.0:0"], 2);
    assert!(message.contains("--token-file") && message.contains("--client-ca"), "{message}");
}

#[test]
fn invalid_flags_are_reported_before_listening() {
    let place = Place::new();
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap().to_string();
    assert!(refused(&place.archive, &["--listen", &address], 1).contains("another program uses this address"));
    assert!(refused(&place.archive, &["--listen", "nowhere"], 2).contains("--listen nowhere"));
    assert!(refused(&place.archive, &["--run", "rm -rf"], 2).contains("--run \"rm -rf\""));
    assert!(refused(&place.archive, &["--every", "5s"], 2).contains("--run"));
    assert!(refused(place.folder.path(), &[], 1).contains("not a contend archive"));
}

/// A foreign page in a browser on this machine can request anything at this address.
#[test]
fn foreign_host_name_is_refused_without_a_token() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let status = |headers: &[&str]| ask(server.address, "GET", "/records", headers, b"").status;
    for own in ["localhost", "127.0.0.1:80", "[::1]:1", "localhost:8418"] {
        assert_eq!(status(&[&format!("host: {own}")]), 200, "{own}");
    }
    for foreign in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", ""] {
        assert_eq!(status(&[&format!("host: {foreign}")]), 421, "{foreign}");
    }
    assert_eq!(status(&["origin: http://evil.example"]), 421);
    assert_eq!(status(&["origin: null"]), 421);
    // A form cannot send JSON.
    let form = ask(server.address, "POST", "/records", &["content-type: text/plain"], b"{}");
    assert_eq!(form.status, 415);
}

/// In each, the path leads to the archive's directory, or next to it, for a program that decodes it.
#[test]
fn no_spelling_of_a_path_leaves_the_routes() {
    let place = Place::with(1);
    let secret = place.beside("secret");
    fs::write(&secret, "the secret").unwrap();
    let server = Server::start(&place.archive, &[]);
    let mut random = fastrand::Rng::with_seed(4);
    let ups = ["..", "%2e%2e", ".%2e", "%2E.", "..%00", "%c0%ae%c0%ae", "....", "..;", "%252e%252e", ". .", "．．"];
    let slashes = ["/", "//", "%2f", "%5c", "\\", "/./", "%252f", "/;/"];
    let ends =
        ["secret", "archive.git/config", "archive.git/HEAD", "etc/passwd", "config", "secret%00", "secret?", "secret#"];
    let starts =
        ["/records", "/records/", "", "/", "/metrics", &format!("/records/{}", "0".repeat(40)), "//", "file://"];
    let absolute = place.folder.path().to_str().unwrap();
    for _ in 0..1_000 {
        let mut path = starts[random.usize(..starts.len())].to_owned();
        if random.u8(..10) == 0 {
            path += absolute;
        }
        for _ in 0..random.usize(1..8) {
            path += slashes[random.usize(..slashes.len())];
            path += ups[random.usize(..ups.len())];
        }
        path += slashes[random.usize(..slashes.len())];
        path += ends[random.usize(..ends.len())];
        let path: String = path.chars().map(|letter| if letter == ' ' { '+' } else { letter }).collect();
        let message = raw(
            server.address,
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        // The text after a question mark or a hash does not belong to the path.
        let status = answer(&message).map(|answer| answer.status);
        assert!(status.is_none_or(|status| matches!(status, 400 | 404 | 421)), "{path}: {status:?}");
        let text = String::from_utf8_lossy(&message);
        assert!(!text.contains("the secret") && !text.contains("[core]") && !text.contains("root:"), "{path}: {text}");
    }
}

/// A request whose head a proxy and this server could read in two ways.
#[test]
fn a_head_with_two_meanings_is_refused() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &[]);
    let status = |version: &str, headers: &str| {
        let request = format!("GET /records HTTP/{version}\r\n{headers}connection: close\r\n\r\n");
        let mut stream = connect(server.address);
        stream.write_all(request.as_bytes()).unwrap();
        answer(&rest(&mut stream)).unwrap().status
    };
    assert_eq!(status("1.1", "host: localhost\r\n"), 200);
    assert_eq!(status("1.0", ""), 200);
    assert_eq!(status("1.1", ""), 400);
    for second in ["localhost", "evil.example"] {
        assert_eq!(status("1.1", &format!("host: localhost\r\nhost: {second}\r\n")), 400);
        let origins = format!("host: localhost\r\norigin: http://localhost\r\norigin: http://{second}\r\n");
        assert_eq!(status("1.1", &origins), 400);
    }
}

#[test]
fn an_origin_is_a_scheme_a_host_and_a_port() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &[]);
    let status = |line: &str| ask(server.address, "GET", "/records", &[line], b"").status;
    for own in ["http://localhost", "http://127.0.0.1:3000", "https://[::1]:1"] {
        assert_eq!(status(&format!("origin: {own}")), 200, "{own}");
    }
    for foreign in [
        "http://localhost:x@evil",
        "http://localhost:1@evil",
        "http://localhost@evil",
        "http://localhost.evil",
        "file://localhost",
        "localhost",
    ] {
        assert_eq!(status(&format!("origin: {foreign}")), 421, "{foreign}");
    }
    for foreign in ["localhost:x@evil", "localhost:1@evil", "localhost@evil"] {
        assert!(matches!(status(&format!("host: {foreign}")), 400 | 421), "{foreign}");
    }
}

/// The page could not read the answer, but it would hold a listener's place.
#[test]
fn a_page_of_another_site_starts_nothing() {
    let place = Place::with(1);
    let token = token_in(&place, 0o600);
    for flags in [&[][..], &["--token-file", &token]] {
        let server = Server::start(&place.archive, flags);
        let status = |path: &str, headers: &[&str]| {
            let secret = "authorization: Bearer 0123456789abcdef0123456789abcdef";
            ask(server.address, "GET", path, &[headers, &[secret]].concat(), b"").status
        };
        for site in ["cross-site", "same-site", "nonsense"] {
            let site = format!("sec-fetch-site: {site}");
            assert_eq!(status("/live", &[&site, "sec-fetch-mode: no-cors", "sec-fetch-dest: empty"]), 403);
            assert_eq!(status("/records", &[&site, "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"]), 403);
            let link = [&site, "sec-fetch-mode: navigate", "sec-fetch-dest: document"];
            assert_eq!(status("/records", &link), 200, "a link that the user follows");
        }
        for own in ["same-origin", "none"] {
            assert_eq!(status("/records", &[&format!("sec-fetch-site: {own}")]), 200, "{own}");
        }
    }
}

#[test]
fn head_is_answered_as_get_without_the_body() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &[]);
    let record = format!("/records/{}", place.ids()[0]);
    for path in ["/records", &record, "/openapi.json"] {
        let [got, head] = ["GET", "HEAD"].map(|method| ask(server.address, method, path, &[], b""));
        assert_eq!((head.status, head.header("content-length")), (200, got.header("content-length")), "{path}");
        assert!(head.body.is_empty() && !got.body.is_empty(), "{path}");
        assert!(got.header("content-length").is_some(), "{path}");
    }
    assert_eq!(ask(server.address, "HEAD", "/nothing", &[], b"").status, 404);
}

// The pushed records that are stored.

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

// The feed of the runs of the server itself.

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

// The list of records as a page.

#[test]
fn index_lists_the_records_newest_first_with_links_and_verdicts() {
    let place = varied_place();
    let server = Server::start(&place.archive, &[]);
    let answer = get(server.address, "/");
    let page = answer.text();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")), "{page}");
    assert!(answer.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'")));
    let rows: Vec<&str> = page.split("<ol class=\"records\">").nth(1).unwrap().split("<li>").skip(1).collect();
    let ids: Vec<String> = place.ids().into_iter().rev().collect();
    assert_eq!(rows.len(), ids.len());
    for (row, id) in rows.iter().zip(&ids) {
        assert!(row.contains(&format!("href=\"/records/{id}/page\"")), "{id} is not in {row}");
    }
    // The record of a survey names its findings, that of a trace its program, and others their locks.
    for (row, words) in [
        (0, ["server-2", "Costs of waiting"]),
        (1, ["server-1", "./known 20: "]),
        (2, ["server-2", "lost 1"]),
        (4, ["server-2", ": std"]),
    ] {
        assert!(words.iter().all(|words| rows[row].contains(words)), "{words:?}: {}", rows[row]);
    }
    assert!(page.contains("7 records of 2 machines") && page.contains("?q=server-1") && page.contains("4 records"));
    for link in [format!("/records/{}", ids[0]), "/favicon.ico".to_owned()] {
        assert_eq!(get(server.address, &link).status, 200, "{link}");
    }
    assert_eq!(get(server.address, "/favicon.ico").header("content-type"), Some("image/svg+xml"));
    // 501 where the program contend is not built.
    assert!([200, 501].contains(&get(server.address, &format!("/records/{}/page", ids[3])).status));
    // The second answer comes from memory, and has a record that was added.
    keep_from("server-3", &place.open(), &record_of("ring", 9));
    assert!(get(server.address, "/?q=ring").text().contains("8 records of 3 machines"));
}

#[test]
fn machines_are_compared_on_a_page_that_the_index_links() {
    let place = Place::new();
    let archive = place.open();
    keep_from("server-1", &archive, &record_of("survey", 1));
    let server = Server::start(&place.archive, &[]);
    // 501 where the program contend is not built.
    let lone = get(server.address, "/machines");
    assert!(lone.status == 501 || (lone.status == 404 && lone.text().contains("only one machine")), "{}", lone.text());
    assert!(!get(server.address, "/").text().contains("href=\"/machines\""));
    keep_from("server-2", &archive, &record_of("survey", 2));
    assert!(get(server.address, "/").text().contains("href=\"/machines\""));
    let both = get(server.address, "/machines");
    let is_page = both.status == 200 && both.text().contains("<h1>Machines: ");
    assert!(both.status == 501 || is_page, "{}: {}", both.status, both.text());
}

/// The program contend is a script here, in the directory of a second name of the server.
#[test]
fn failed_comparison_of_machines_is_an_error_of_the_server() {
    let place = Place::with(1);
    let programs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (server, contend) = (programs.path().join("contend-serve"), programs.path().join("contend"));
    std::fs::hard_link(env!("CARGO_BIN_EXE_contend-serve"), &server).unwrap();
    let mut command = std::process::Command::new(server);
    command.arg("--archive").arg(&place.archive).args(["--listen", "127.0.0.1:0"]).stdin(std::process::Stdio::null());
    let server = Server::start_command(command);
    for (script, status, text) in [
        ("kill -KILL $$", 500, "internal error"),
        ("echo 'error: only one machine' >&2; kill -TERM $$", 500, "internal error"),
        ("echo 'thread panicked' >&2; exit 101", 500, "internal error"),
        ("echo 'error: the archive is damaged' >&2; exit 1", 500, "internal error"),
        ("echo 'error: only one machine' >&2; exit 4", 404, "only one machine"),
        ("echo '<h1>Machines'", 200, "<h1>Machines"),
    ] {
        let next = programs.path().join("next");
        std::fs::write(&next, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&next, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::rename(&next, &contend).unwrap();
        let answer = get(server.address, "/machines");
        assert!(
            answer.status == status && answer.text().contains(text),
            "{script}: {} {}",
            answer.status,
            answer.text()
        );
    }
}

#[test]
fn texts_of_records_are_not_markup_in_the_index() {
    const EVIL: &str = "</a><script>alert(1)</script>\u{202e}";
    let place = Place::new();
    let mut record = record_of("latency", 1);
    record["environment"]["cpu"]["model"] = json!(EVIL);
    for row in record["results"].as_array_mut().unwrap() {
        row["lock"] = json!(EVIL);
    }
    keep_from(EVIL, &place.open(), &record);
    // A record that this version cannot read is listed too.
    let mut strange = record_of("latency", 2);
    strange["results"][0]["p50_ns"] = json!("fast");
    keep_from("two", &place.open(), &strange);
    let server = Server::start(&place.archive, &[]);
    let page = get(server.address, "/").text();
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("cannot read the record"), "{page}");
}

#[test]
fn an_empty_archive_has_an_index_too() {
    let place = Place::new();
    let server = Server::start(&place.archive, &[]);
    let page = get(server.address, "/");
    assert!(page.status == 200 && page.text().contains("The archive is empty"), "{}", page.text());
    assert_eq!(ask(server.address, "POST", "/", &["content-type: application/json"], b"{}").status, 405);
}
