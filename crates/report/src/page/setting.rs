//! On which machine, when and by which command a record was made.

use super::table::table;
use crate::machine::machine;
use maud::{Markup, html};
use record::{Source, Table, flattened};
use serde_json::Value;
use terminal::moment;

pub fn setting(source: &Source) -> Markup {
    let began = source.environment.get("started_unix_s").and_then(Value::as_u64);
    let when = began.map_or_else(|| "unknown time".into(), |began| format!("{} UTC", moment(began)));
    let environment = flattened(&source.environment);
    let command = environment.iter().find(|(name, _)| name == "command_line").map_or("", |(_, text)| text);
    html! {
        p {
            (machine(&source.environment)) "; " (when)
        }
        p { code { "contend " (command) } }
        details {
            summary { "Full environment" }
            (table(&Table {
                caption: "Environment".into(),
                header: vec!["property", "value"],
                rows: environment.iter().map(|(name, text)| vec![name.clone(), text.clone()]).collect(),
            }, &source.name))
        }
    }
}
