//! Results as rows: the fields that are single values, a pair as two columns, a list as its length, a histogram as a
//! column for each of its lengths.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use terminal::escaped_cell;

/// Returns a header and a line for each result; the columns are those that any of the results has, in order of
/// appearance.
///
/// No cell has more than one line, a control character, or a formula.
///
/// # Errors
/// A result does not serialise.
pub fn rows<R: Serialize>(results: &[R]) -> anyhow::Result<String> {
    let mut objects: Vec<Value> = results.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    spread_histograms(&mut objects);
    let flat: Vec<Map<String, Value>> = objects.into_iter().map(flatten).collect();
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

/// Replaces the counts by length in whole microseconds by an object, whose fields are the lengths that occur in any of
/// the results, in their order.
fn spread_histograms(results: &mut [Value]) {
    let names: BTreeSet<String> = results.iter().filter_map(Value::as_object).flat_map(Map::keys).cloned().collect();
    for name in names {
        let known: Vec<Option<Vec<(u64, u64)>>> = results.iter().map(|result| counts_by_us(&result[&name])).collect();
        let lengths: BTreeSet<u64> = known.iter().flatten().flatten().map(|(us, _)| *us).collect();
        for (result, counts) in results.iter_mut().zip(known) {
            let Some(counts) = counts else { continue };
            let count = |us: u64| counts.iter().find(|(length, _)| *length == us).map_or(0, |(_, count)| *count);
            result[&name] = lengths.iter().map(|&us| (us.to_string(), json!(count(us)))).collect();
        }
    }
}

/// Returns a list whose elements are all `{"us": 3, "count": 17}`; `None` for any other value.
fn counts_by_us(value: &Value) -> Option<Vec<(u64, u64)>> {
    let list = value.as_array().filter(|list| !list.is_empty())?;
    let pair = |bin: &Value| {
        let is_pair = bin.as_object()?.len() == 2;
        Some((bin["us"].as_u64()?, bin["count"].as_u64()?)).filter(|_| is_pair)
    };
    list.iter().map(pair).collect()
}

fn flatten(result: Value) -> Map<String, Value> {
    let mut flat = Map::new();
    if let Value::Object(fields) = result {
        fields.into_iter().for_each(|(name, value)| put(&mut flat, &name, value));
    }
    flat
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
    fn histogram_has_a_column_for_each_length_of_any_result() {
        let bins = |bins: &[(u64, u64)]| -> Value {
            bins.iter().map(|(us, count)| json!({"us": us, "count": count})).collect::<Vec<Value>>().into()
        };
        let results = [
            json!({"cpu": 0, "gaps_by_us": bins(&[(2, 7), (1_000, 1)]), "gaps": 8}),
            json!({"cpu": 1, "gaps_by_us": bins(&[(2, 5), (11, 4)]), "gaps": 9}),
            json!({"cpu": 2, "gaps": 0}),
        ];
        assert_eq!(
            rows(&results).unwrap(),
            "cpu,gaps_by_us_2,gaps_by_us_11,gaps_by_us_1000,gaps\n0,7,0,1,8\n1,5,4,0,9\n2,,,,0\n"
        );
    }

    #[test]
    fn formula_is_escaped_and_number_is_kept() {
        let results = [json!({"lock": "=HYPERLINK(\"http://evil\")", "-x": -2.5, "text": "-2.5", "@": "+1+1"})];
        assert_eq!(rows(&results).unwrap(), "lock,'-x,text,'@\n\"'=HYPERLINK(\"\"http://evil\"\")\",-2.5,-2.5,'+1+1\n");
    }
}
