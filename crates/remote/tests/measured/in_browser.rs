//! The list of records in a browser, and its pictures in the documentation.

use crate::browser::{axe, dom, has_chromium, is_drawn, is_good};
use crate::command::{Server, get, varied_place};

#[test]
fn search_filters_the_index_in_a_browser() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let place = varied_place();
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
    let place = varied_place();
    let server = Server::start(&place.archive, &[]);
    let page = get(server.address, "/").text();
    is_drawn(&page, "serve-light", (1280, 800), false);
    is_drawn(&page, "serve-phone-dark", (400, 800), true);
}
