//! The metrics of the server, and the dashboard of Grafana that shows them.

use crate::command::{self, Place, Server, ask, get, record, record_of};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn dashboard() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/contend.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn panels(dashboard: &Value) -> &[Value] {
    dashboard["panels"].as_array().unwrap()
}

fn variables(dashboard: &Value) -> &[Value] {
    dashboard["templating"]["list"].as_array().unwrap()
}

fn wrong(schema: &Value, content: &Value) -> Vec<String> {
    let description = |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    jsonschema::validator_for(schema).unwrap().iter_errors(content).map(description).collect()
}

/// Returns a place on the grid, which is 24 wide.
fn place() -> Value {
    let integer = |least: u8, most: Value| json!({ "type": "integer", "minimum": least, "maximum": most });
    json!({
        "type": "object", "required": ["h", "w", "x", "y"], "additionalProperties": false,
        "properties": { "h": integer(1, json!(1_000)), "w": integer(1, json!(24)), "x": integer(0, json!(23)),
            "y": integer(0, json!(100_000)) }
    })
}

/// Returns the schema of a panel of this dashboard: Grafana fills in fewer defaults than it documents.
fn panel() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let source = json!({ "type": "object", "required": ["type", "uid"], "additionalProperties": false,
        "properties": { "type": { "const": "prometheus" }, "uid": text } });
    json!({
        "type": "object", "required": ["id", "type", "title", "datasource", "gridPos", "fieldConfig", "options", "targets"],
        "properties": {
            "id": { "type": "integer", "minimum": 1 },
            "type": { "enum": ["timeseries", "bargauge", "table"] },
            "title": text, "description": { "type": "string" }, "datasource": source, "gridPos": place(),
            "fieldConfig": { "type": "object", "required": ["defaults", "overrides"],
                "properties": { "defaults": { "type": "object" }, "overrides": { "type": "array" } } },
            "options": { "type": "object" },
            "targets": { "type": "array", "minItems": 1, "items": {
                "type": "object", "required": ["refId", "datasource", "expr"],
                "properties": { "refId": text, "datasource": source, "expr": text,
                    "format": { "enum": ["time_series", "table", "heatmap"] } } } }
        },
        "allOf": [
            options_of("timeseries", &["legend", "tooltip"]),
            options_of("table", &["frameIndex", "showHeader"]),
            options_of("bargauge", &["displayMode", "legend", "maxVizHeight", "minVizHeight", "minVizWidth",
                "namePlacement", "orientation", "reduceOptions", "showUnfilled", "sizing", "valueMode"])
        ]
    })
}

fn options_of(kind: &str, required: &[&str]) -> Value {
    json!({ "if": { "properties": { "type": { "const": kind } } },
        "then": { "properties": { "options": { "required": required } } } })
}

fn schema() -> Value {
    let variable = json!({ "type": "object", "required": ["type", "name"], "properties": {
        "type": { "enum": ["datasource", "query"] }, "name": { "type": "string", "pattern": "^[a-z]+$" },
        "hide": { "enum": [0, 1, 2] }, "refresh": { "enum": [0, 1, 2] },
        "sort": { "type": "integer", "minimum": 0, "maximum": 8 },
        "query": { "type": "string" }, "options": { "type": "array" } } });
    json!({
        "type": "object",
        "required": ["annotations", "panels", "schemaVersion", "templating", "time", "title", "uid"],
        // A fixed identity would overwrite another dashboard.
        "properties": {
            "id": false,
            "title": { "type": "string", "minLength": 1 },
            "uid": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$" },
            "schemaVersion": { "type": "integer", "minimum": 36 },
            "annotations": { "type": "object", "required": ["list"] },
            "time": { "type": "object", "required": ["from", "to"] },
            "templating": { "type": "object", "required": ["list"],
                "properties": { "list": { "type": "array", "items": variable } } },
            "panels": { "type": "array", "minItems": 1, "items": panel() }
        }
    })
}

#[test]
fn dashboard_has_the_fields_that_grafana_requires() {
    assert_eq!(wrong(&schema(), &dashboard()), Vec::<String>::new());
    // The schema can refuse.
    let mut broken = dashboard();
    broken["panels"][0]["gridPos"]["w"] = json!(25);
    broken["panels"][1]["options"].as_object_mut().unwrap().remove("sizing");
    broken["id"] = json!(1);
    assert_eq!(wrong(&schema(), &broken).len(), 3);
}

#[test]
fn dashboard_matches_the_schemas_of_grafana() {
    let Some(folder) = std::env::var_os("CONTEND_GRAFANA_SCHEMAS") else {
        return println!("skipped: needs CONTEND_GRAFANA_SCHEMAS");
    };
    let of = |kind: &str| -> Value {
        let file = Path::new(&folder).join(format!("{kind}.jsonschema.json"));
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    };
    let dashboard = dashboard();
    assert_eq!(wrong(&of("dashboard"), &dashboard), Vec::<String>::new());
    for panel in panels(&dashboard) {
        let mut options = of(panel["type"].as_str().unwrap());
        options["$ref"] = json!("#/definitions/Options");
        assert_eq!(wrong(&options, &panel["options"]), Vec::<String>::new(), "{}", panel["title"]);
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(wrong(&of("prometheus"), target), Vec::<String>::new(), "{}", panel["title"]);
        }
    }
}

#[test]
fn panels_have_unique_numbers_and_do_not_overlap() {
    let dashboard = dashboard();
    let (mut numbers, mut taken) = (HashSet::new(), HashSet::new());
    for panel in panels(&dashboard) {
        assert!(numbers.insert(panel["id"].as_u64().unwrap()), "{} is there twice", panel["id"]);
        let [x, y, wide, high] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + wide <= 24, "{} is wider than the grid", panel["title"]);
        for cell in (x..x + wide).flat_map(|x| (y..y + high).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{} lies over another at {cell:?}", panel["title"]);
        }
        let letters: Vec<&Value> = panel["targets"].as_array().unwrap().iter().map(|target| &target["refId"]).collect();
        assert_eq!(letters.iter().collect::<HashSet<_>>().len(), letters.len(), "{}", panel["title"]);
    }
}

/// A variable that nothing sets would select nothing; one that no query uses is a menu without effect.
#[test]
fn every_variable_is_set_and_used() {
    let dashboard = dashboard();
    let set: HashSet<&str> = variables(&dashboard).iter().map(|one| one["name"].as_str().unwrap()).collect();
    let text = dashboard.to_string();
    let named = |after: &str| {
        let rest = after.strip_prefix('{').unwrap_or(after);
        rest[..rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(0)].to_owned()
    };
    let asked: HashSet<String> = text.match_indices('$').map(|(place, _)| named(&text[place + 1..])).collect();
    assert_eq!(asked.iter().map(String::as_str).collect::<HashSet<_>>(), set);
}

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
