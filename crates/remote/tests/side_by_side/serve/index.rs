//! The list of records as a page.

use crate::browser::{axe, dom, has_chromium, is_drawn, is_good};
use crate::command::http::{ask, get};
use crate::command::{Place, Server, keep_from, record_of};
use serde_json::json;

/// Returns an archive with records of several experiments from two machines, the oldest first.
fn place() -> Place {
    let place = Place::new();
    let archive = place.open();
    let runs = [
        ("server-1", "clock"),
        ("server-1", "latency"),
        ("server-2", "latency"),
        ("server-1", "throughput"),
        ("server-2", "noise"),
        ("server-1", "trace"),
        ("server-2", "survey"),
    ];
    for (seed, (host, experiment)) in runs.into_iter().enumerate() {
        keep_from(host, &archive, &record_of(experiment, seed as u64));
    }
    place
}

#[test]
fn index_lists_the_records_newest_first_with_links_and_verdicts() {
    let place = place();
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

#[test]
fn search_filters_the_index_in_a_browser() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let place = place();
    let server = Server::start(&place.archive, &[]);
    let dom = dom(&format!("http://{}/?q=latency+SERVER-2", server.address), &["--timeout=30000"]);
    let list = dom.split("<ol class=\"records\">").nth(1).unwrap();
    assert_eq!((list.matches("<li").count(), list.matches("<li hidden").count()), (7, 6), "{dom}");
    assert!(dom.contains(">1 of 7 shown</output>"), "{dom}");
    let page = get(server.address, "/").text();
    let axe = axe().map_or_else(String::new, |axe| format!("<script>{axe}</script>"));
    for is_dark in [false, true] {
        is_good(&page, &axe, is_dark);
    }
}

/// `CONTEND_RENEW=1` draws the pictures of docs/serve.md again.
#[test]
fn pictures_of_the_index_are_drawn() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let place = place();
    let server = Server::start(&place.archive, &[]);
    let page = get(server.address, "/").text();
    is_drawn(&page, "serve-light", (1280, 800), false);
    is_drawn(&page, "serve-phone-dark", (400, 800), true);
}
