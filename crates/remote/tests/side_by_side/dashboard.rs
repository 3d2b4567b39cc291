//! The dashboard for Grafana, compared with the rules for an imported dashboard.
//!
//! `CONTEND_GRAFANA_SCHEMAS` names a directory with Grafana's own schemas (`dashboard.jsonschema.json` and those of the
//! panels): then the file is compared with those too.

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
