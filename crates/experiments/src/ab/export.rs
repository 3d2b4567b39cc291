//! The runs in the layout of hyperfine's `--export-json`, for programs that read it.

use super::record::{AbParameters, AbRow, SideRecord};
use serde_json::{Value, json};

/// Returns one object with a result for each side.
pub fn hyperfine(parameters: &AbParameters, rows: &[AbRow]) -> String {
    let results: Vec<Value> =
        parameters.sides.iter().enumerate().map(|(place, side)| result(place, side, parameters, rows)).collect();
    let mut text = serde_json::to_string_pretty(&json!({ "results": results })).unwrap_or_default();
    text.push('\n');
    text
}

fn result(place: usize, side: &SideRecord, parameters: &AbParameters, rows: &[AbRow]) -> Value {
    let values = |metric: &str| -> &[f64] {
        let row = rows.iter().find(|row| row.metric == metric && row.side == side.side);
        row.map_or(&[], |row| &row.values)
    };
    let times = values("wall_s");
    let count = times.len().max(1) as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let average = mean(times);
    let variance = times.iter().map(|time| (time - average).powi(2)).sum::<f64>() / (count - 1.0);
    let median = rows.iter().find(|row| row.metric == "wall_s" && row.side == side.side).map(|row| row.median);
    let end = |pick: fn(f64, f64) -> f64| times.iter().copied().reduce(pick);
    let own = |run: &&super::record::RunRecord| run.side == place as u64;
    let codes: Vec<i32> = parameters.runs.iter().filter(own).map(|run| run.exit_status).collect();
    let memory: Vec<u64> = values("memory_kib").iter().map(|kib| (kib * 1024.0) as u64).collect();
    let mut result = json!({
        "command": side.side,
        "mean": average,
        "stddev": (times.len() > 1).then(|| variance.sqrt()),
        "median": median,
        "user": mean(values("user_s")),
        "system": mean(values("system_s")),
        "min": end(f64::min),
        "max": end(f64::max),
        "times": times,
        "memory_usage_byte": memory,
        "exit_codes": codes,
    });
    if !side.parameters.is_empty() {
        result["parameters"] = json!(side.parameters);
    }
    result
}
