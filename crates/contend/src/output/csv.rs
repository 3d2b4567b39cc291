//! Results as rows: the fields that are single values, a pair as two columns, a list as its length.

use serde::Serialize;
use serde_json::{Map, Value};
use terminal::escaped_cell;

/// Returns a header and a line for each result; the columns are those that any of the results has, in order of
/// appearance.
///
/// No cell has more than one line, a control character, or a formula.
///
/// # Errors
/// A result does not serialise.
pub fn rows<R: Serialize>(results: &[R]) -> anyhow::Result<String> {
    let flat: Vec<Map<String, Value>> = results.iter().map(flatten).collect::<Result<_, _>>()?;
    let mut columns: Vec<&String> = Vec::new();
    for column in flat.iter().flat_map(Map::keys) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| escaped_cell(column).into_owned()))?;
    for row in &flat {
        writer.write_record(columns.iter().map(|column| row.get(*column).map_or_else(String::new, cell)))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn flatten<R: Serialize>(result: &R) -> anyhow::Result<Map<String, Value>> {
    let mut flat = Map::new();
    if let Value::Object(fields) = serde_json::to_value(result)? {
        fields.into_iter().for_each(|(name, value)| put(&mut flat, &name, value));
    }
    Ok(flat)
}

fn put(flat: &mut Map<String, Value>, name: &str, value: Value) {
    match value {
        Value::Array(pair) if is_interval(name, &pair) => {
            for (end, value) in ["low", "high"].into_iter().zip(pair) {
                flat.insert(format!("{name}_{end}"), value);
            }
        }
        // An unknown interval has its two columns too.
        Value::Null if name.contains("_ci") => {
            ["low", "high"].into_iter().for_each(|end| _ = flat.insert(format!("{name}_{end}"), Value::Null));
        }
        Value::Array(list) => {
            flat.insert(format!("{name}_count"), list.len().into());
        }
        Value::Object(fields) => {
            fields.into_iter().for_each(|(inner, value)| put(flat, &format!("{name}_{inner}"), value))
        }
        single => {
            flat.insert(name.to_owned(), single);
        }
    }
}

fn is_interval(name: &str, list: &[Value]) -> bool {
    name.contains("_ci") && list.len() == 2
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escaped_cell(text).into_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pairs_become_two_columns_and_lists_their_length() {
        let results = [
            json!({"lock": "a,b", "p50_ci_ns": [1.5, 2.0], "p99_ci_ns": null, "spikes": [{}, {}], "none": null}),
            json!({"lock": "c", "extra": 3}),
        ];
        assert_eq!(
            rows(&results).unwrap(),
            "lock,p50_ci_ns_low,p50_ci_ns_high,p99_ci_ns_low,p99_ci_ns_high,spikes_count,none,extra\n\
             \"a,b\",1.5,2.0,,,2,,\nc,,,,,,,3\n"
        );
    }

    #[test]
    fn formula_is_escaped_and_number_is_kept() {
        let results = [json!({"lock": "=HYPERLINK(\"http://evil\")", "-x": -2.5, "text": "-2.5", "@": "+1+1"})];
        assert_eq!(rows(&results).unwrap(), "lock,'-x,text,'@\n\"'=HYPERLINK(\"\"http://evil\"\")\",-2.5,-2.5,'+1+1\n");
    }
}
