//! The OpenAPI document compared with the server that returns it: every path and method is answered as described, and
//! no other.

use crate::command::{self, Answer, Place, Server, ask, connect, get, portable, until};
use serde_json::{Value, json};
use std::io::Write;

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];

/// Asserts that this status, media type and content are described for this path and method.
fn assert_described(document: &Value, path: &str, method: &str, answer: &Answer) {
    let operation = &document["paths"][path][method.to_lowercase()];
    let mut response = &operation["responses"][answer.status.to_string()];
    if let Some(reference) = response["$ref"].as_str() {
        response = document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
    }
    let description = || format!("{method} {path}: {} {}", answer.status, answer.text());
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
    let described =
        response["content"].get(kind).unwrap_or_else(|| panic!("{kind} is not described: {}", description()));
    if kind == "application/json" || kind.ends_with("+json") {
        let mut schema = described["schema"].clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let content = answer.json();
        let wrong: Vec<String> = validator.iter_errors(&content).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}: {}", description());
    }
}

#[test]
fn exactly_the_described_paths_are_answered() {
    let place = Place::with(2);
    let server = Server::start(&place.archive, &["--accept", "--run", "clock --seconds 1"]);
    let document = get(server.address, "/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let (known, unknown) = (place.ids().pop().unwrap(), "0".repeat(40));
    let paths: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(paths.len(), 9, "{paths:?}");
    for path in &paths {
        for method in METHODS {
            let is_described = document["paths"][path].get(method.to_lowercase()).is_some();
            for id in [&known, &unknown] {
                let filled = path.replace("{id}", id);
                if (method, path.as_str()) == ("GET", "/live") {
                    let mut stream = connect(server.address);
                    stream.write_all(b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
                    assert!(until(&mut stream, "event: ").contains("content-type: text/event-stream"));
                    continue;
                }
                let answer = ask(server.address, method, &filled, &["content-type: application/json"], b"{}");
                if method == "HEAD" {
                    // HEAD is answered like GET, which every path has; another test compares the two.
                    assert_ne!(answer.status, 405, "{method} {filled}");
                } else if is_described {
                    assert_described(&document, path, method, &answer);
                    assert_ne!(answer.status, 405, "{method} {filled}");
                } else {
                    assert_eq!(answer.status, 405, "{method} {filled}");
                    let allowed = answer.header("allow").unwrap().to_lowercase();
                    let described = document["paths"][path].as_object().unwrap().keys().map(String::as_str);
                    // HEAD is answered wherever GET is, as the document's description says.
                    let described: Vec<&str> = described
                        .flat_map(|method| [Some(method), (method == "get").then_some("head")].into_iter().flatten())
                        .collect();
                    assert_eq!(allowed.split(", ").collect::<Vec<_>>(), described, "{path}");
                }
            }
        }
    }
    for path in ["//", "/index.html", "/record", "/records/", "/live/", "/records/x", "/openapi", "*"] {
        assert_eq!(get(server.address, path).status, 404, "{path}");
    }
}

/// The described bodies are accepted.
#[test]
fn bodies_are_accepted_as_described() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept", "--run", "clock --seconds 1"]);
    let document = get(server.address, "/openapi.json").json();
    let sent = serde_json::to_value(portable(9)).unwrap();
    let schema = json!({ "$ref": "#/components/schemas/Whole", "components": document["components"] });
    assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(&sent));
    for (status, body) in [(201, sent.to_string()), (200, sent.to_string()), (422, "{}".into())] {
        let answer = command::post(server.address, "/records", body.as_bytes());
        assert_eq!(answer.status, status);
        assert_described(&document, "/records", "POST", &answer);
    }
    let id = sent["id"].as_str().unwrap();
    for (status, headers) in [
        (200, vec!["accept: application/vnd.contend.whole+json"]),
        (206, vec!["range: bytes=5-"]),
        (416, vec!["range: bytes=999999999-"]),
    ] {
        let answer = ask(server.address, "GET", &format!("/records/{id}"), &headers, b"");
        assert_eq!(answer.status, status);
        if status != 206 {
            assert_described(&document, "/records/{id}", "GET", &answer);
        }
    }
    let unlisted = command::post(server.address, "/live", br#"{"run":"clock"}"#);
    assert_described(&document, "/live", "POST", &unlisted);
    assert_eq!(unlisted.status, 403);
}
