//! The table of 2008, as data.
//!
//! "The lightest lightweight threads, Protothreads" and "Comparing lightweight threads", eigenclass.org, 1 April and 24
//! March 2008: 503 threads on a dual-core AMD Athlon 64 X2 6000+ in 32-bit mode. The page does not say how many hops;
//! 10 million suit its figures best.

use serde::{Deserialize, Serialize};

const TABLE: &str = include_str!("ring_2008.csv");

/// Threads of 2008's ring: no other stands beside it.
pub const THREADS: usize = 503;

/// Hops that 2008's times are taken to be for.
pub const HOPS: f64 = 1e7;

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    pub implementation: String,
    pub memory_kib: u64,
    pub time_s: f64,
    /// The contestant of today that is most like it.
    pub today: Option<String>,
}

/// The table, the fastest first.
pub fn table() -> Vec<Line> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect("the table is part of the program")
}

/// The lines that a contestant with so many threads stands beside.
pub fn beside(contestant: &str, threads: usize) -> Vec<Line> {
    let is_it = |line: &Line| threads == THREADS && line.today.as_deref() == Some(contestant);
    table().into_iter().filter(is_it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::contestants::{embedded, recipes};

    #[test]
    fn the_table_is_whole_and_in_order() {
        let table = table();
        assert_eq!(table.len(), 12);
        assert!(table.is_sorted_by(|a, b| a.time_s <= b.time_s));
        // Polling against the ring took 245 times as long as with it.
        let time = |name: &str| beside(name, THREADS)[0].time_s;
        assert_eq!((time("c-protothreads-pessimum") / time("c-protothreads-optimum")).round(), 245.0);
        assert_eq!(beside("c-protothreads-optimum", 1_000), []);
    }

    #[test]
    fn its_counterparts_exist() {
        let recipes = recipes(&embedded()).unwrap();
        for name in table().into_iter().filter_map(|line| line.today) {
            assert!(recipes.iter().any(|recipe| recipe.name == name), "{name}");
        }
    }
}
