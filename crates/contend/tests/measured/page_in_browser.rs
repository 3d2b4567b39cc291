//! The page of a survey in a browser, and its pictures in the documentation.

use crate::command::browser::{axe, has_chromium, is_drawn, is_good};
use crate::command::contend;
use crate::command::stored::all;

/// Returns the page of the stored survey.
fn page() -> String {
    let old = all().into_iter().find(|old| old.experiment() == "survey").expect("there is one in tests/records");
    let output = contend(&["report", old.path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// An element that is too wide for a phone scrolls by itself.
#[test]
fn nothing_is_wider_than_a_phone() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let page = page();
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    is_good(&page, "", false);
}

#[test]
fn page_is_accessible_on_every_screen_in_light_and_dark() {
    let Some(axe) = axe().filter(|_| has_chromium()) else {
        return eprintln!("skipped: needs chromium and axe-core (npm install -g axe-core)");
    };
    let page = page();
    for is_dark in [false, true] {
        is_good(&page, &format!("<script>{axe}</script>"), is_dark);
    }
}

/// `CONTEND_RENEW=1` draws the pictures of docs/report.md again.
#[test]
fn pictures_of_the_page_are_drawn() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let page = page();
    is_drawn(&page, "page-light", (1280, 800), false);
    is_drawn(&page, "page-dark", (1280, 800), true);
    is_drawn(&page, "page-phone", (400, 800), false);
}
