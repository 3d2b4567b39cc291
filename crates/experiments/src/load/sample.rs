//! Rows as the experiment makes them, by hand, for the tests of what is said of them.

use super::record::Row;
use serde_json::json;

/// A CPU of which a soaker got so much; 5 points less in its worst interval, one more in its best.
pub fn row(cpu: usize, got: f64) -> Row {
    serde_json::from_value(json!({
        "measurement": "total", "time_s": 6.0, "cpu": cpu, "intervals": 12, "priority": "idle", "load_share": 1.0 - got,
        "cputime_share": got, "grind_share": got, "lost_inside_share": 0.0, "proc_stat_share": 0.0, "exec_share": null,
        "speed_share": 1.0, "cputime_most_share": got + 0.01, "cputime_least_share": got - 0.05, "taken_share": null,
        "taken_ci": null, "efficiency_share": 0.998, "efficiency_ci": [0.99, 1.0], "proc_stat_resolution_share": 0.001
    }))
    .expect("the sample is as the experiment writes it")
}
