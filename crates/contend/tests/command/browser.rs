//! Pages in a real browser: no violation of accessibility by axe-core, nothing wider than the screen, no error, no
//! request; and pictures of them for the documentation.
//!
//! `npm install -g axe-core`, or its `axe.min.js` named by `CONTEND_AXE`, is needed in addition to chromium.

// Each test program uses its own part of this.
#![allow(dead_code)]

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the library, if it is installed.
pub fn axe() -> Option<String> {
    let named = std::env::var_os("CONTEND_AXE").map(PathBuf::from);
    let global = || {
        let root = Command::new("npm").args(["root", "-g"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(root.stdout).ok()?.trim()).join("axe-core/axe.min.js"))
    };
    fs::read_to_string(named.or_else(global)?).ok()
}

pub fn has_chromium() -> bool {
    Command::new("chromium").arg("--version").output().is_ok()
}

/// A script that opens all folds, runs the library if it is installed, and stores its results and the browser's errors
/// for the page around it.
const QUESTION: &str = r#"<script>
const high = document.documentElement.scrollHeight;
document.querySelectorAll("details").forEach(details => { details.open = true; });
const asked = () => window.axe ? axe.run(document, { resultTypes: ["violations"] }) : Promise.resolve({ violations: [] });
setTimeout(() => asked().then(found => {
  window.seen = {
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    high: innerWidth >= 1280 && high > 8000 ? high : 0,
    wide: document.scrollingElement.scrollWidth > innerWidth ? document.scrollingElement.scrollWidth : 0,
    requests: performance.getEntriesByType("resource").length,
    violations: found.violations.map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)]),
  };
}), 1500);
</script></body>"#;

/// A desktop, a tablet and a phone.
///
/// A browser's window has a least width; a frame in it has none.
const SCREENS: &str = r#"<!DOCTYPE html><html lang="en" style="color-scheme:light dark"><title>Screens</title><body><script>
const screens = [1280, 768, 390].map(width => {
  const screen = document.createElement("iframe");
  screen.style = `width:${width}px;height:900px;border:0`;
  screen.srcdoc = PAGE;
  document.body.append(screen);
  return screen.contentWindow;
});
const look = () => {
  if (!screens.every(screen => screen.seen)) return setTimeout(look, 200);
  const said = document.createElement("pre");
  said.textContent = "SEEN" + JSON.stringify(screens.map(screen => [screen.innerWidth, screen.seen])) + "NEES";
  document.body.append(said);
};
look();
</script></body></html>"#;

/// Returns the document at an address after its scripts have run, in a browser with these further options.
pub fn dom(address: &str, further: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr", "--v=0"])
        .args(further)
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(address)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!message.contains("CONSOLE"), "{message}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the text that a page's script adds between two marks.
pub fn said(dom: &str) -> &str {
    let said = dom.rsplit_once("SEEN").and_then(|(_, rest)| rest.split_once("NEES")).map(|(said, _)| said);
    said.unwrap_or_else(|| panic!("the script added nothing: {dom}"))
}

/// Returns the result for a page, in light or in dark.
fn seen(page: &str, is_dark: bool) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let scheme = if is_dark { 0 } else { 1 };
    let options = [
        "--virtual-time-budget=60000",
        "--timeout=100000",
        "--window-size=1500,900",
        &format!("--blink-settings=preferredColorScheme={scheme}"),
    ];
    let dom = dom(&format!("file://{}", file.display()), &options);
    let seen = said(&dom).replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&seen.replace("&amp;", "&")).unwrap()
}

/// Asserts that on a desktop, a tablet and a phone nothing is too wide, requested, or a violation.
pub fn is_good(page: &str, more: &str, is_dark: bool) {
    let page = page.replace("</body>", &format!("{more}{QUESTION}"));
    let page = SCREENS.replace("PAGE", &serde_json::to_string(&page).unwrap().replace("</", "<\\/"));
    let good = json!({"dark": is_dark, "high": 0, "wide": 0, "requests": 0, "violations": []});
    assert_eq!(seen(&page, is_dark), json!([[1280, good], [768, good], [390, good]]), "dark: {is_dark}");
}

/// Draws a page, in a frame of this width, and returns the bytes of the PNG.
pub fn picture(page: &str, (width, height): (u32, u32), is_dark: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (file, png) = (folder.path().join("page.html"), folder.path().join("page.png"));
    let frame = format!(
        "<!DOCTYPE html><html style=\"color-scheme:light dark\"><body style=\"margin:0\"><script>\n\
         const screen = document.createElement(\"iframe\");\n\
         screen.style = \"width:{width}px;height:{height}px;border:0\";\n\
         screen.srcdoc = {};\ndocument.body.append(screen);</script></body></html>",
        serde_json::to_string(page).unwrap().replace("</", "<\\/")
    );
    fs::write(&file, frame).unwrap();
    let scheme = if is_dark { 0 } else { 1 };
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000"])
        .arg(format!("--window-size={},{height}", width.max(500)))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--screenshot={}", png.display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    fs::read(&png).unwrap_or_else(|_| panic!("no picture: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Asserts that docs/pictures has this picture in its size; with `CONTEND_RENEW=1`, draws it again.
pub fn is_drawn(page: &str, name: &str, size: (u32, u32), is_dark: bool) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/pictures/{name}.png"));
    if std::env::var_os("CONTEND_RENEW").is_some() {
        fs::write(&file, picture(page, size, is_dark)).unwrap();
    }
    let stored = fs::read(&file).unwrap();
    let number = |at: usize| u32::from_be_bytes(stored[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (size.0.max(500), size.1), "{name}: width and height of a PNG");
}
