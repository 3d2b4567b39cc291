//! Costs of waiting: times of single operations on one ladder, from a clock read to a lost time slice.

use crate::metric::VariationSource;
use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use serde::Serialize;
use terminal::{Page, Rung};

/// A time whose words need no legend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The operation in a few words: `a free std lock`.
    pub what: String,
    pub ns: f64,
    /// The 95 % CI; `null` where there is none.
    pub ns_ci: Option<Interval>,
    /// The corresponding values of the old documents.
    pub then: Vec<CostThen>,
    /// The source of the value: the cell, and which of its values.
    pub figure: String,
    /// The lock that the value is of, if it is of one.
    pub lock: Option<String>,
    /// The aspect in which machines are compared by it, if they are.
    #[serde(skip)]
    pub aspect: Option<Aspect>,
    /// The source of its variation from run to run, if machines are compared by it.
    #[serde(skip)]
    pub variation: Option<VariationSource>,
    /// The step of the clock that the value was read from; 0 where that is far below the value.
    #[serde(skip)]
    pub resolution: f64,
    /// The setting that another machine's value must share to be comparable, in words; empty without one.
    #[serde(skip)]
    pub condition: String,
    /// The experiment that measured it.
    #[serde(skip)]
    pub experiment: Option<String>,
    /// The anchor of the section that has it, on a page.
    #[serde(skip)]
    pub anchor: Option<String>,
}

/// The mark of a value without an interval: nothing shows how far a repetition would be from it.
const UNCERTAIN: &str = "~";

/// The aspect of a machine that a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// A clock read, a system call.
    Calls,
    Uncontended,
    /// Waits for a lock that another thread holds.
    Contended,
    /// Switches between threads, and wake-ups.
    Handoff,
    /// Memory, and cache lines of other CPUs.
    Memory,
    /// The time in which work is done while others use the CPU or its core.
    CpuTime,
    /// Rare values.
    Tail,
}

impl Aspect {
    pub fn label(self) -> &'static str {
        match self {
            Self::Calls => "clock and system calls",
            Self::Uncontended => "uncontended locks",
            Self::Contended => "contended locks",
            Self::Handoff => "switches and wake-ups",
            Self::Memory => "memory and cache lines",
            Self::CpuTime => "CPU time",
            Self::Tail => "rare values",
        }
    }
}

/// The same operation in an old document, on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostThen {
    /// The year of the document.
    pub year: u16,
    pub ns: f64,
}

impl Cost {
    pub fn new(what: impl Into<String>, figure: impl Into<String>, estimate: Estimate) -> Self {
        let Estimate { value: ns, interval: ns_ci, resolution } = estimate;
        Self {
            what: what.into(),
            ns,
            ns_ci,
            then: Vec::new(),
            figure: figure.into(),
            lock: None,
            aspect: None,
            variation: None,
            resolution,
            condition: String::new(),
            experiment: None,
            anchor: None,
        }
    }

    /// Adds the value of that year's document, if it gave one.
    pub fn with_old_value(mut self, year: u16, ns: Option<f64>) -> Self {
        self.then.extend(ns.map(|ns| CostThen { year, ns }));
        self
    }

    /// Makes machines comparable by it, in this aspect and with this variation from run to run.
    pub fn compared_as(self, aspect: Aspect, variation: VariationSource) -> Self {
        Self { aspect: Some(aspect), variation: Some(variation), ..self }
    }

    /// Sets the setting that another machine's value must share.
    pub fn under(self, condition: String) -> Self {
        Self { condition, ..self }
    }

    /// Writes the value, with a mark where it has no interval.
    pub fn value_words(&self) -> String {
        let mark = if self.ns_ci.is_none() { UNCERTAIN } else { "" };
        format!("{mark}{}", Unit::Ns.words_within(self.ns, self.ns_ci))
    }

    /// Sets the lock.
    pub fn by_lock(self, lock: &str) -> Self {
        Self { lock: Some(lock.to_owned()), ..self }
    }

    /// Returns whether the value fits on a logarithmic axis: a record may contain any number.
    fn can_stand(&self) -> bool {
        is_time(self.ns)
    }
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// Costs in order: the only source of every picture of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ladder {
    /// The costs, the least first.
    pub costs: Vec<Cost>,
}

impl Ladder {
    /// Builds the ladder from all costs that fit on it.
    pub fn of(costs: impl IntoIterator<Item = Cost>) -> Self {
        let mut costs: Vec<Cost> = costs.into_iter().filter(Cost::can_stand).collect();
        for cost in &mut costs {
            cost.ns_ci = cost.ns_ci.filter(|ends| is_time(ends.low) && is_time(ends.high));
            cost.then.retain(|then| is_time(then.ns));
        }
        costs.sort_by(|one, other| one.ns.total_cmp(&other.ns));
        Self { costs }
    }

    /// Draws the axis and a line for each cost, on a terminal.
    pub fn letters(&self, page: &Page) -> String {
        let rung = |cost: &Cost| Rung {
            words: cost.what.clone(),
            figure: cost.value_words(),
            ns: cost.ns,
            ends: cost.ns_ci.map(|ends| (ends.low, ends.high)),
            then: cost.then.iter().map(|then| (then.year, then.ns)).collect(),
        };
        let lines = terminal::ladder(&self.costs.iter().map(rung).collect::<Vec<Rung>>(), page);
        let is_marked = self.costs.iter().any(|cost| cost.ns_ci.is_none());
        lines + if is_marked { "  ~ no confidence interval\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(what: &str, ns: f64) -> Cost {
        Cost::new(what, "", Estimate::new(ns, Some(Interval::new(ns / 2.0, ns * 2.0))))
    }

    #[test]
    fn costs_are_sorted_and_invalid_times_are_omitted() {
        let costs = [f64::NAN, 30.0, -1.0, 0.0, 2.0, f64::INFINITY].map(|ns| cost(&ns.to_string(), ns));
        let ladder = Ladder::of(costs);
        let order: Vec<&str> = ladder.costs.iter().map(|cost| cost.what.as_str()).collect();
        assert_eq!(order, ["2", "30"]);
        assert_eq!(Ladder::of([cost("", 0.0)]).costs, []);
    }

    #[test]
    fn value_without_an_interval_is_marked() {
        let plain = Page { width: 80, colour: false };
        let known = Estimate::new(50.0, Some(Interval::new(45.0, 55.0)));
        let certain = Ladder::of([Cost::new("a switch", "", known)]).letters(&plain);
        assert!(certain.contains(" 50.0 ns") && !certain.contains('~'), "{certain}");
        let single =
            Ladder::of([Cost::new("a switch", "", Estimate::from(50.0)), cost("a call", 99.0)]).letters(&plain);
        assert!(single.contains("~50.0 ns") && single.contains(" 100 ns") && single.lines().count() == 4, "{single}");
    }

    #[test]
    fn older_value_is_added_if_it_is_a_time() {
        let known = cost("", 5.0)
            .with_old_value(1998, Some(7.0))
            .with_old_value(1999, None)
            .with_old_value(2002, Some(f64::NAN));
        let ladder = Ladder::of([known]);
        assert_eq!(ladder.costs[0].then, [CostThen { year: 1998, ns: 7.0 }]);
    }
}
