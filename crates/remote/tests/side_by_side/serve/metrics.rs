//! The metrics, and the dashboard and the rules that use them.

use crate::command::http::{ask, get};
use crate::command::{self, Place, Server, record, record_of};
use serde_json::{Value, json};
use std::fs;

/// Every value that is scraped is a value of the record.
#[test]
fn metrics_have_the_values_of_the_records() {
    let place = Place::new();
    let archive = place.open();
    let noise = record_of("noise", 1);
    for experiment in ["noise", "load", "trace", "latency"] {
        command::keep(&archive, &record_of(experiment, 1));
    }
    let server = Server::start(&place.archive, &[]);
    let open = ask(server.address, "GET", "/metrics", &["accept: application/openmetrics-text"], b"").text();
    assert!(open.ends_with("# EOF\n"), "{open}");
    let classic = get(server.address, "/metrics").text();
    assert!(!classic.contains("# EOF") && classic.contains("# TYPE contend_serve_answers_total counter"), "{classic}");
    let value = |text: &str, start: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {text}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    let row = &noise["results"][0];
    for text in [&open, &classic] {
        let labels = format!("{{host=\"one\",cpu=\"{}\",scenario=\"quiet\"}}", row["cpu"]);
        let gaps = value(text, &format!("contend_gap_seconds_count{labels}"));
        assert_eq!(gaps as u64, row["gaps"].as_u64().unwrap());
        let lost: f64 = text
            .lines()
            .filter(|line| line.starts_with("contend_lost_ratio{") && line.contains("scenario=\"quiet\""))
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum();
        assert!((lost - row["lost_share"].as_f64().unwrap()).abs() < 1e-9, "{lost}");
        assert_eq!(value(text, "contend_records "), 4.0);
    }
    for name in [
        "contend_load_ratio",
        "contend_lock_wait_seconds_bucket",
        "contend_figure_seconds",
        "contend_run_start_seconds",
    ] {
        assert!(open.contains(name), "{name}");
    }
}

/// The SMT sibling on each core, from whichever experiment probed for it.
#[test]
fn metrics_have_the_smt_interference_of_the_cores() {
    let place = Place::new();
    let archive = place.open();
    let (mut core, mut noise) = (record_of("core", 1), record_of("noise", 1));
    noise["results"][0]["core_shared_share"] = json!(0.25);
    noise["results"][0]["width_lost_share"] = json!(0.125);
    core["results"][0]["shared_share"] = json!(0.375);
    core["results"][0]["costs"][0] =
        json!({ "kind": "width", "alone_ns": 2.0, "shared_ns": 3.5, "ratio": 1.75, "ratio_ci": null });
    let cpu = core["results"][0]["cpu"].clone();
    // An unknown value is not exported.
    core["results"][1]["shared_share"] = Value::Null;
    for record in [&core, &noise] {
        command::keep(&archive, record);
    }
    let text = get(Server::start(&place.archive, &[]).address, "/metrics").text();
    let labels = |cpu: &Value, of: &str| format!("{{host=\"one\",cpu=\"{cpu}\",{of}}}");
    let (of_core, of_noise) = ("experiment=\"core\",scenario=\"\"", "experiment=\"noise\",scenario=\"quiet\"");
    let noise_cpu = &noise["results"][0]["cpu"];
    for line in [
        format!("contend_core_shared_ratio{} 0.375", labels(&cpu, of_core)),
        format!("contend_core_cost_ratio{} 1.75", labels(&cpu, "code=\"width\"")),
        format!("contend_core_shared_ratio{} 0.25", labels(noise_cpu, of_noise)),
        format!("contend_core_width_lost_ratio{} 0.125", labels(noise_cpu, of_noise)),
    ] {
        assert!(text.lines().any(|one| one == line), "no {line} in {text}");
    }
    let of_cores = text.lines().filter(|line| line.starts_with("contend_core_shared_ratio") && line.contains(of_core));
    assert_eq!(of_cores.count(), 1);
}

/// Returns the metrics of a server whose last run of noise is one of wakes, and of one whose last run is one of gaps.
fn all_metrics() -> String {
    let place = Place::new();
    let archive = place.open();
    for experiment in ["noise", "load", "trace", "core"] {
        command::keep(&archive, &record_of(experiment, 1));
    }
    let mut wakes = record(2);
    wakes["results"] = json!([{ "scenario": "wake", "cpu": 0, "policy": "other", "timer": "clock_nanosleep",
        "histogram": [{ "from_ns": 900.0, "to_ns": 1000.0, "count": 2 }] }]);
    command::keep(&archive, &wakes);
    let server = Server::start(&place.archive, &[]);
    let text = get(server.address, "/metrics").text();
    // The last run of noise is that of the wakes; the distribution of gaps is known from the run before.
    drop(server);
    let before = Place::new();
    command::keep(&before.open(), &record_of("noise", 1));
    text + &get(Server::start(&before.archive, &[]).address, "/metrics").text()
}

/// Every name that the dashboard and the rules query is exported, with the labels of the query.
#[test]
fn every_query_of_dashboard_and_rules_is_exported() {
    let metrics = all_metrics();
    let contrib = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let mut queried = 0;
    for file in ["grafana/contend.json", "prometheus/alerts.yml"] {
        let text = fs::read_to_string(contrib.join(file)).unwrap().replace("\\\"", "\"");
        for (place, _) in text.match_indices("contend_") {
            let rest = &text[place..];
            let name = &rest[..rest.find(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()).unwrap()];
            let line = metrics
                .lines()
                .find(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} ")));
            let line = line.unwrap_or_else(|| panic!("{file} asks for {name}, which nothing gives"));
            let labels = rest[name.len()..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
            for label in labels.map(|(labels, _)| labels).unwrap_or_default().split(',') {
                let label = label.split(['=', '~']).next().unwrap().trim();
                assert!(
                    label.is_empty() || line.contains(&format!("{label}=\"")),
                    "{file}: {name} has no {label}: {line}"
                );
            }
            queried += 1;
        }
    }
    assert!(queried > 10, "{queried}");
}

/// `curl` prints them on a terminal.
#[test]
fn labels_have_no_control_characters() {
    let place = Place::new();
    let mut trace = record_of("trace", 1);
    for row in trace["results"].as_array_mut().unwrap() {
        if row["kind"] == "lock" {
            row["lock"] = json!("\u{1b}]0;evil\u{7}\r\0\u{202e}");
        }
    }
    command::keep(&place.open(), &trace);
    let text = get(Server::start(&place.archive, &[]).address, "/metrics").text();
    let hazard = text.chars().find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
    assert_eq!(hazard, None);
    assert!(text.contains("u{1b}]0;evil"), "the name is there, and visible");
    assert!(text.contains("contend_serve_omitted_series 0"));
}
