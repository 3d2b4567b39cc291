//! The tally compared with the plain list of its values.
use instruments::tally::Tally;
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, SeqDeserializer};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ranks_and_quantiles_are_those_of_the_sorted_list(
        mut values in prop::collection::vec(0_u64..50, 1..200),
        q in 0.0..=1.0_f64,
    ) {
        let tally: Tally = values.iter().copied().collect();
        values.sort_unstable();
        for (index, &value) in values.iter().enumerate() {
            prop_assert_eq!(tally.at_rank(index as u64 + 1), Some(value));
        }
        let rank = ((q * values.len() as f64).ceil() as usize).max(1);
        prop_assert_eq!(tally.quantile(q), Some(values[rank - 1]));
        prop_assert_eq!((tally.min(), tally.max()), (values.first().copied(), values.last().copied()));
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        prop_assert!((tally.mean().unwrap() - mean).abs() < 1e-9);
    }

    #[test]
    fn merging_is_tallying_both(
        a in prop::collection::vec(any::<u64>(), 0..50),
        b in prop::collection::vec(0_u64..9, 0..50),
    ) {
        let mut merged: Tally = a.iter().copied().collect();
        merged.merge(&b.iter().copied().collect());
        prop_assert_eq!(merged, a.into_iter().chain(b).collect::<Tally>());
    }

    #[test]
    fn ranges_and_changes(values in prop::collection::vec(0_u64..100, 0..100), low in 0_u64..100, high in 0_u64..100) {
        let tally: Tally = values.iter().copied().collect();
        let inside: Tally = values.iter().copied().filter(|value| (low..=high).contains(value)).collect();
        prop_assert_eq!(tally.count_between(low..=high), inside.count());
        prop_assert_eq!(tally.between(low..=high), inside);
        let folded: Tally = values.iter().map(|value| value % 7).collect();
        prop_assert_eq!(tally.map_values(|value| value % 7), folded);
    }
}

#[test]
fn bulk_path_agrees_below_and_above_its_table() {
    let mut rng = fastrand::Rng::with_seed(1);
    for count in [100, 20_000] {
        let mut values: Vec<u32> = (0..count).map(|_| rng.u32(..) >> rng.u32(0..32)).collect();
        values.extend([0, 65_535, 65_536, u32::MAX]);
        let expected: Tally = values.iter().map(|&value| u64::from(value)).collect();
        let mut tally = Tally::new();
        tally.add_values(&mut values);
        assert_eq!(tally, expected);
        tally.add_values(&mut [5, 5]);
        assert_eq!(tally.count(), expected.count() + 2);
    }
}

#[test]
fn nothing_seen() {
    let empty = Tally::new();
    assert!(empty.is_empty());
    assert_eq!((empty.min(), empty.quantile(0.5), empty.mean(), empty.at_rank(1)), (None, None, None, None));
    assert_eq!(empty.between(0..=u64::MAX).count(), 0);
}

#[test]
fn quantiles_outside_the_range() {
    let tally: Tally = [1, 2, 3].into_iter().collect();
    assert_eq!((tally.quantile(-1.0), tally.quantile(7.0), tally.quantile(f64::NAN)), (Some(1), Some(3), None));
}

/// Returns a tally deserialised from pairs, as a record contains them.
fn read(pairs: &[(u64, u64)]) -> Result<Tally, Error> {
    let pairs: Vec<_> = pairs.iter().map(|&(value, count)| SeqDeserializer::new([value, count].into_iter())).collect();
    Tally::deserialize(SeqDeserializer::new(pairs.into_iter().map(Pair)))
}

struct Pair(SeqDeserializer<std::array::IntoIter<u64, 2>, Error>);

impl IntoDeserializer<'_, Error> for Pair {
    type Deserializer = SeqDeserializer<std::array::IntoIter<u64, 2>, Error>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.0
    }
}

#[test]
fn reads_pairs_in_any_order_and_refuses_impossible_counts() {
    assert_eq!(read(&[(9, 1), (4, 2), (9, 1), (5, 0)]).unwrap(), [4, 4, 9, 9].into_iter().collect());
    assert!(read(&[(1, u64::MAX), (2, 1)]).is_err());
}
