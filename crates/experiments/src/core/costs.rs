//! Memory among the costs, and a cache line from another CPU.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::Cost;

pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let Some(row) = rows.first() else { return Vec::new() };
    let memory = row.memory.map(|memory| {
        let figure = format!("CPU {}: median of {} loads beyond its caches", row.cpu, memory.count);
        Cost::new("a load from memory", figure, Estimate::from(memory.latency_p50_ns))
    });
    let lines = row.pairs.iter().map(|pair| {
        let figure = format!("CPU {} and CPU {}: a cache line from one to the other", row.cpu, pair.cpu);
        Cost::new(format!("a cache line of CPU {}", pair.cpu), figure, Estimate::from(pair.line_ns))
    });
    memory.into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn memory_and_the_lines_of_other_cpus_are_costs() {
        let found = costs(&[row(0, None)]);
        let said: Vec<(&str, f64)> = found.iter().map(|cost| (cost.what.as_str(), cost.ns)).collect();
        assert_eq!(said, [("a load from memory", 85.0), ("a cache line of CPU 1", 61.0)]);
        assert_eq!(costs(&[]), []);
    }
}
