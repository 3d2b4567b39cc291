//! What waiting costs: times of single operations that can stand on one ladder, from a clock read to a lost time slice.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use serde::Serialize;
use terminal::{Page, Rung};

/// A time, by itself on a line: its words need no legend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// In a few words: `a free std lock`.
    pub what: String,
    pub ns: f64,
    /// 95 %; `null` where there is none.
    pub ns_ci: Option<Interval>,
    /// What the old documents gave for the same.
    pub then: Vec<CostThen>,
    /// What exactly was taken: the cell, and which of its figures.
    pub figure: String,
    /// The lock that it is of, if it is of one.
    pub lock: Option<String>,
}

/// The same in an old document, on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostThen {
    /// Of the document.
    pub year: u16,
    pub ns: f64,
}

impl Cost {
    pub fn new(what: impl Into<String>, figure: impl Into<String>, estimate: Estimate) -> Self {
        let Estimate { value: ns, interval: ns_ci, .. } = estimate;
        Self { what: what.into(), ns, ns_ci, then: Vec::new(), figure: figure.into(), lock: None }
    }

    /// Beside what the document of that year gave, if it did.
    pub fn beside(mut self, year: u16, ns: Option<f64>) -> Self {
        self.then.extend(ns.map(|ns| CostThen { year, ns }));
        self
    }

    /// Of this lock.
    pub fn of_lock(self, lock: &str) -> Self {
        Self { lock: Some(lock.to_owned()), ..self }
    }

    /// Whether it has a place on a logarithmic axis: a record may say anything.
    fn can_stand(&self) -> bool {
        is_time(self.ns)
    }
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// Costs in order: the one source of every picture of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ladder {
    /// The least first.
    pub costs: Vec<Cost>,
}

impl Ladder {
    /// Of all that can stand on it; `None` where nothing can.
    pub fn of(costs: impl IntoIterator<Item = Cost>) -> Option<Self> {
        let mut costs: Vec<Cost> = costs.into_iter().filter(Cost::can_stand).collect();
        for cost in &mut costs {
            cost.ns_ci = cost.ns_ci.filter(|ends| is_time(ends.low) && is_time(ends.high));
            cost.then.retain(|then| is_time(then.ns));
        }
        costs.sort_by(|one, other| one.ns.total_cmp(&other.ns));
        (!costs.is_empty()).then_some(Self { costs })
    }

    /// The axis and a line a cost, on a terminal.
    pub fn letters(&self, page: &Page) -> String {
        let rung = |cost: &Cost| Rung {
            words: cost.what.clone(),
            figure: Unit::Ns.words(cost.ns),
            ns: cost.ns,
            ends: cost.ns_ci.map(|ends| (ends.low, ends.high)),
            then: cost.then.iter().map(|then| (then.year, then.ns)).collect(),
        };
        terminal::ladder(&self.costs.iter().map(rung).collect::<Vec<Rung>>(), page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(what: &str, ns: f64) -> Cost {
        Cost::new(what, "", Estimate::new(ns, Some(Interval::new(ns / 2.0, ns * 2.0))))
    }

    #[test]
    fn the_least_comes_first_and_what_is_no_time_is_left_out() {
        let costs = [f64::NAN, 30.0, -1.0, 0.0, 2.0, f64::INFINITY].map(|ns| cost(&ns.to_string(), ns));
        let ladder = Ladder::of(costs).unwrap();
        let order: Vec<&str> = ladder.costs.iter().map(|cost| cost.what.as_str()).collect();
        assert_eq!(order, ["2", "30"]);
        assert_eq!(Ladder::of([cost("", 0.0)]), None);
    }

    #[test]
    fn what_was_then_stands_beside_it_if_it_is_a_time() {
        let known = cost("", 5.0).beside(1998, Some(7.0)).beside(1999, None).beside(2002, Some(f64::NAN));
        let ladder = Ladder::of([known]).unwrap();
        assert_eq!(ladder.costs[0].then, [CostThen { year: 1998, ns: 7.0 }]);
    }
}
