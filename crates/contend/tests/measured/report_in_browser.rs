//! The charts of pages in a real browser.

use crate::command::browser::{dom, has_chromium, said};
use crate::command::report::{compared, page, records, written};
use crate::command::stored::{latency, named};
use serde_json::{Value, json};

/// A script for a browser without a screen, in which no element comes into view: it reports all elements as visible,
/// and stores errors and refused requests.
const PREPARATION: &str = r#"<script>
"use strict";
const seen = { errors: [], charts: 0, empty: 0 };
addEventListener("error", event => seen.errors.push(event.message));
document.addEventListener("securitypolicyviolation", event => seen.errors.push(event.blockedURI));
window.IntersectionObserver = class {
  constructor(told) { this.told = told; }
  observe(target) { setTimeout(() => this.told([{ isIntersecting: true, target }]), 100); }
  unobserve() {}
};
</script><style>"#;

/// A script that inspects every chart, and prints the result where `--dump-dom` includes it.
const INSPECTION: &str = r#"<script>
"use strict";
document.querySelectorAll("details").forEach(details => { details.open = true; });
// An address that is not an anchor, and cannot be decoded.
location.hash = '#%';
setTimeout(() => {
  document.querySelectorAll("figure canvas").forEach(canvas => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    seen.charts += 1;
    if (!pixels.some(value => value !== 0)) seen.empty += 1;
  });
  seen.figures = document.querySelectorAll("figure.plot").length;
  seen.requests = performance.getEntriesByType("resource").length;
  const said = document.createElement("pre");
  said.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
  document.body.append(said);
}, 3000);
</script></body>"#;

#[test]
fn a_real_browser_draws_every_chart_without_error_or_request() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let folder = tempfile::tempdir().unwrap();
    // A foreign record, with more decades than an axis may have.
    let mut again = latency();
    let tiny = json!({"from_ns": 0.0, "to_ns": 1e-300, "count": 1});
    again["results"][0]["histogram"].as_array_mut().unwrap().insert(0, tiny);
    // And a record one of whose axes begins just below a power of ten.
    let mut noise = named("noise");
    noise["results"][0]["turns"][0]["longest_us"] = json!(1.25e-5);
    let records = records();
    let all: Vec<&Value> = records.iter().map(|(_, record)| record).chain([&again, &noise]).collect();
    let page = page(&all);
    assert!(compared(&page, "histograms overlaid").is_some() && page.contains("\"mark\":\"points\""));
    let page = page.replacen("<style>", PREPARATION, 1).replace("</body>", INSPECTION);
    let file = written(&folder, "page.html", page);
    let options = ["--window-size=1000,2000", "--virtual-time-budget=10000", "--timeout=60000"];
    let dom = dom(&format!("file://{}", file.display()), &options);
    let seen: Value = serde_json::from_str(said(&dom)).unwrap();
    assert_eq!(seen["errors"], json!([]), "{seen}");
    assert_eq!(seen["requests"], 0, "{seen}");
    assert!(seen["charts"].as_u64().unwrap() > 5 && seen["charts"] == seen["figures"] && seen["empty"] == 0, "{seen}");
}

/// A script that moves the slider and chooses the years, and stores what becomes of the charts and of the ladder.
const EXPLORATION: &str = r#"<script>
"use strict";
document.querySelectorAll("details").forEach(details => { details.open = true; });
const charts = is_wanted => [...document.querySelectorAll("figure.plot")].filter(one => one.chart && is_wanted(one));
setTimeout(() => {
  const slider = document.querySelector(".slider"), overlay = charts(one => one.plot.series.every(of => of.mark === "outline"))[0];
  const faded = value => {
    slider.querySelector("input").value = value;
    slider.querySelector("input").dispatchEvent(new Event("input", { bubbles: true }));
    return overlay.chart.series.slice(1).map(one => one.alpha);
  };
  seen.slider = [slider.hidden, faded(0), faded(50), faded(100)];
  const ladder = document.querySelector(".figure:has(.ladder .then)"), drawn = name => [...ladder.querySelectorAll(name)]
    .filter(one => getComputedStyle(one).visibility === "visible").length > 0;
  const locks = charts(one => one.plot.series.some(of => of.old))[0];
  const chosen = (figure, value, state) => {
    figure.querySelector(`.years [value=${value}]`).click();
    return state();
  };
  const marks = () => [drawn(".then"), drawn(".now")];
  const lines = () => [true, false].map(old => locks.plot.series.some((one, at) => one.old === old && locks.chart.series[at + 1].show));
  seen.ladder = ["both", "old", "now"].map(value => chosen(ladder, value, marks));
  seen.locks = ["both", "old", "now"].map(value => chosen(locks.closest(".figure"), value, lines));
  const said = document.createElement("pre");
  said.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
  document.body.append(said);
}, 3000);
</script></body>"#;

#[test]
fn slider_and_years_change_the_charts_in_a_real_browser() {
    if !has_chromium() {
        return eprintln!("skipped: needs chromium");
    }
    let folder = tempfile::tempdir().unwrap();
    let page = page(&[&named("survey"), &latency(), &latency()]);
    let page = page.replacen("<style>", PREPARATION, 1).replace("</body>", EXPLORATION);
    let file = written(&folder, "page.html", page);
    let options = ["--window-size=1280,2000", "--virtual-time-budget=10000", "--timeout=60000"];
    let dom = dom(&format!("file://{}", file.display()), &options);
    let seen: Value = serde_json::from_str(said(&dom)).unwrap();
    assert_eq!(seen["errors"], json!([]), "{seen}");
    assert_eq!(seen["slider"], json!([false, [1, 0, 0], [1, 1, 1], [0, 1, 1]]), "{seen}");
    let both_old_now = json!([[true, true], [true, false], [false, true]]);
    assert_eq!((&seen["ladder"], &seen["locks"]), (&both_old_now, &both_old_now), "{seen}");
}
