//! What the server itself runs, heard as it runs.

use crate::command::http::{connect, get, post, until};
use crate::command::{Place, Server};
use std::io::Write;

#[test]
fn what_runs_is_heard_as_it_runs_and_its_record_is_kept() {
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
    let said = until(&mut stream, "\"status\":0");
    assert!(said.contains("event: started") && said.contains("event: line"), "{said}");
    let id = place.ids().pop().expect("its record is kept");
    assert!(said.contains(&id) && said.contains("\"status\":0"), "{said}");
    assert_eq!(post(server.address, "/live", br#"{"run":"clock"}"#).status, 403);
    let page = get(server.address, &format!("/records/{id}/page"));
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("model frames") && page.header("content-security-policy").is_some());
}
