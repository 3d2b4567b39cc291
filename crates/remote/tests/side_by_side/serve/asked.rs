//! The clients and requests that are answered, and the answers.

use crate::command::http::{answer, ask, connect, get, raw};
use crate::command::{Place, Server, refused, rest};
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
