//! Figures with names and labels: each once, whatever a record repeats.

use std::collections::{BTreeMap, BTreeSet};

pub type Labels = Vec<(String, String)>;

#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// By name, without the unit.
    pub families: BTreeMap<(String, Option<&'static str>), Family>,
    seen: BTreeSet<(String, Labels)>,
}

#[derive(Clone, Debug)]
pub struct Family {
    pub help: &'static str,
    pub values: Values,
}

#[derive(Clone, Debug)]
pub enum Values {
    Gauges(Vec<(Labels, f64)>),
    Counters(Vec<(Labels, u64)>),
    Histograms(Vec<(Labels, Distribution)>),
}

/// How often what lay below each bound; the last bound is infinite.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    pub sum: f64,
    pub count: u64,
    pub buckets: Vec<(f64, u64)>,
}

type Unit = Option<&'static str>;

impl Samples {
    pub fn gauge(&mut self, name: &str, help: &'static str, unit: Unit, labels: &[(&str, String)], value: f64) {
        let Some(labels) = self.unseen(name, labels) else { return };
        if let Values::Gauges(all) = self.family(name, help, unit, || Values::Gauges(Vec::new())) {
            all.push((labels, value));
        }
    }

    pub fn counter(&mut self, name: &str, help: &'static str, labels: &[(&str, String)], value: u64) {
        let Some(labels) = self.unseen(name, labels) else { return };
        if let Values::Counters(all) = self.family(name, help, None, || Values::Counters(Vec::new())) {
            all.push((labels, value));
        }
    }

    pub fn histogram(&mut self, name: &str, help: &'static str, labels: &[(&str, String)], value: Distribution) {
        let Some(labels) = self.unseen(name, labels) else { return };
        if let Values::Histograms(all) = self.family(name, help, Some("seconds"), || Values::Histograms(Vec::new())) {
            all.push((labels, value));
        }
    }

    /// The labels, if nothing of this name has them yet.
    fn unseen(&mut self, name: &str, labels: &[(&str, String)]) -> Option<Labels> {
        let labels: Labels = labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.seen.insert((name.to_owned(), labels.clone())).then_some(labels)
    }

    fn family(&mut self, name: &str, help: &'static str, unit: Unit, none: impl Fn() -> Values) -> &mut Values {
        let family = self.families.entry((name.to_owned(), unit));
        &mut family.or_insert_with(|| Family { help, values: none() }).values
    }
}
