//! The page of a survey as a browser has it: no violation of accessibility by axe-core, nothing that is wider than the
//! screen, no error, no request.
//!
//! `npm install -g axe-core`, or its `axe.min.js` named by `CONTEND_AXE`, is needed beside chromium.

mod command;

use command::contend;
use command::stored::all;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The library, if it is here.
fn axe() -> Option<String> {
    let named = std::env::var_os("CONTEND_AXE").map(PathBuf::from);
    let global = || {
        let root = Command::new("npm").args(["root", "-g"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(root.stdout).ok()?.trim()).join("axe-core/axe.min.js"))
    };
    fs::read_to_string(named.or_else(global)?).ok()
}

fn has_chromium() -> bool {
    Command::new("chromium").arg("--version").output().is_ok()
}

/// The page of the stored survey.
fn page() -> String {
    let old = all().into_iter().find(|old| old.experiment() == "survey").expect("there is one in tests/records");
    let output = contend(&["report", old.path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Opens all folds, asks the library, and leaves where `--dump-dom` prints it what it and the browser say.
const QUESTION: &str = r#"<script>
document.querySelectorAll("details").forEach(details => { details.open = true; });
setTimeout(() => axe.run(document, { resultTypes: ["violations"] }).then(found => {
  const said = document.createElement("pre");
  said.textContent = "SEEN" + JSON.stringify({
    wide: document.scrollingElement.scrollWidth > innerWidth,
    requests: performance.getEntriesByType("resource").length,
    violations: found.violations.map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)]),
  }) + "NEES";
  document.body.append(said);
}), 1500);
</script></body>"#;

/// What is said of a page on a screen so wide, in light or in dark.
fn seen(page: &str, width: u32, is_dark: bool) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let scheme = if is_dark { 0 } else { 1 };
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr", "--v=0"])
        .args(["--virtual-time-budget=60000", "--timeout=100000"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let (dom, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("CONSOLE"), "{said}");
    let seen = dom.rsplit_once("SEEN").and_then(|(_, rest)| rest.split_once("NEES")).map(|(seen, _)| seen);
    let seen = seen.unwrap_or_else(|| panic!("nothing was seen: {said}")).replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&seen.replace("&amp;", "&")).unwrap()
}

/// A browser's window has a least width; a frame in it has none. What is too wide scrolls by itself.
const PHONE: &str = r#"<!DOCTYPE html><body><script>
const phone = document.createElement("iframe");
phone.style = "width:390px;height:900px;border:0";
phone.srcdoc = PAGE;
document.body.append(phone);
setTimeout(() => {
  const page = phone.contentDocument;
  page.querySelectorAll("details").forEach(details => { details.open = true; });
  setTimeout(() => {
    const said = document.createElement("pre");
    said.textContent = "SEEN" + JSON.stringify(page.scrollingElement.scrollWidth) + "NEES";
    document.body.append(said);
  }, 2000);
}, 1500);
</script></body>"#;

#[test]
fn nothing_is_wider_than_a_phone() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let text = serde_json::to_string(&page()).unwrap().replace("</", "<\\/");
    let width = seen(&PHONE.replace("PAGE", &text), 800, false).as_u64().unwrap();
    assert!((300..=390).contains(&width), "{width}");
}

#[test]
fn nobody_is_kept_out_on_a_wide_screen_and_a_narrow_one_in_light_and_in_dark() {
    let Some(axe) = axe().filter(|_| has_chromium()) else {
        return eprintln!("skipped: needs chromium and axe-core (npm install -g axe-core)");
    };
    let page = page().replace("</body>", &format!("<script>{axe}</script>{QUESTION}"));
    for (width, is_dark) in [(1400, false), (500, true)] {
        let seen = seen(&page, width, is_dark);
        assert_eq!(seen, json!({"wide": false, "requests": 0, "violations": []}), "{width} pixels");
    }
}
