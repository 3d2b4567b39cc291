//! The clock's place among the costs.

use super::record::{Row, clocks};
use instruments::statistics::comparison::Estimate;
use record::Cost;

/// 1998: "Where Does the Time Go?", a call of `system_time()`.
const READ_1998_NS: f64 = 280.0;

pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let read = |ns| Cost::new("reading the clock", "a read, mean of 1,000 in a row", Estimate::from(ns));
    clocks(rows).first().map(|clock| read(clock.read_cost_ns).beside(1998, Some(READ_1998_NS))).into_iter().collect()
}
