//! The rows, from the sums of the preemptions by lock and call site.

use super::record::{Row, RowKind};
use crate::trace::aggregate::shares;
use crate::trace::measure::preempted::{Counted, Key};
use crate::trace::record::Runner;
use blame::preempted::{SLICES_NS, Sums};
use blame::switches::Competitor;

/// Rows at most.
const MOST_ROWS: usize = 300;

/// Returns the row of the whole program, then one for each lock and call site: those that kept others waiting longest
/// come first.
pub fn rows(counted: &Counted) -> Vec<Row> {
    let mut all = Sums::default();
    counted.sums.values().for_each(|sums| all.merge(sums));
    let preempted = counted.sums.iter().filter(|(_, sums)| sums.times > 0 || sums.waited_ns > 0.0);
    let mut rows: Vec<Row> = preempted.map(|(key, sums)| row(counted, RowKind::Preempted, key, sums)).collect();
    rows.sort_by(|one, other| other.waited_s.total_cmp(&one.waited_s).then(other.kept_s.total_cmp(&one.kept_s)));
    rows.truncate(MOST_ROWS);
    rows.insert(0, row(counted, RowKind::Total, &Key::default(), &all));
    rows
}

fn row(counted: &Counted, kind: RowKind, key: &Key, sums: &Sums) -> Row {
    let share = |part: u64| (sums.times > 0).then(|| part as f64 / sums.times as f64);
    let [by_5us, by_50us] = sums.covered;
    let is_known = counted.known_s > 0.0;
    // Waiting is seen all the time, and preemptions only while switches are recorded. A share above 1 would mean that the
    // waits were not spread evenly over that time: it is not known then.
    let seen_s = counted.waited_s * (counted.known_s / counted.elapsed_s.max(counted.known_s));
    let waited_s = sums.waited_ns / 1e9;
    Row {
        kind,
        lock: key.0.clone(),
        site: key.1.clone(),
        times: sums.times,
        times_per_s: is_known.then(|| sums.times as f64 / counted.known_s),
        kept_s: sums.kept_ns / 1e9,
        waited_s,
        waited_share: (is_known && seen_s > 0.0).then(|| waited_s / seen_s).filter(|share| *share <= 1.0),
        hold_p50_ns: counted.hold_p50_ns.get(key).copied(),
        left_p50_ns: median(&sums.left_ns),
        by: by(sums),
        covered_by_5us: share(by_5us),
        covered_by_50us: share(by_50us),
        ..Row::default()
    }
}

// The names of the fields say so.
const _: () = assert!(SLICES_NS[0] == 5e3 && SLICES_NS[1] == 50e3);

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0)
}

fn by(sums: &Sums) -> Vec<Runner> {
    let name = |competitor: &Competitor| match competitor {
        Competitor::Own => "another thread of the program".to_owned(),
        Competitor::Named(name) => name.clone(),
        Competitor::Unknown => "unknown".to_owned(),
    };
    let parts = sums.by.iter().map(|(competitor, ns)| (name(competitor), *ns));
    shares(parts).into_iter().map(|(name, share)| Runner { name, share }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blame::switches::Preemption;

    /// A holder is preempted four times, for 4 ms each: twice its hold needs 3 µs more, then 30 and 300 µs.
    #[test]
    fn row_has_rate_shares_and_covers() {
        let mut sums = Sums { waited_ns: 8e6, ..Sums::default() };
        for left_ns in [3e3, 3e3, 30e3, 300e3] {
            sums.note(&Preemption { from: 1e6, to: 5e6, next: None }, left_ns, Competitor::Named("gcc".into()));
        }
        let key = ("lock".to_owned(), "work".to_owned());
        let mut counted = Counted { known_s: 2.0, elapsed_s: 4.0, waited_s: 0.1, ..Counted::default() };
        counted.sums.insert(key.clone(), sums);
        counted.hold_p50_ns.insert(key, 5e3);
        let rows = rows(&counted);
        assert_eq!(rows.iter().map(|row| row.kind).collect::<Vec<RowKind>>(), [RowKind::Total, RowKind::Preempted]);
        let row = &rows[1];
        assert_eq!((row.times, row.times_per_s, row.kept_s), (4, Some(2.0), 0.016));
        // Half of the waiting was seen: 8 of 50 ms.
        assert_eq!(row.waited_share, Some(0.16));
        assert_eq!((row.covered_by_5us, row.covered_by_50us), (Some(0.5), Some(0.75)));
        assert_eq!((row.hold_p50_ns, row.left_p50_ns), (Some(5e3), Some(16.5e3)));
        assert_eq!(row.by, [Runner { name: "gcc".into(), share: 1.0 }]);
    }

    #[test]
    fn program_without_a_preemption_has_a_row() {
        let counted = Counted { known_s: 1.0, elapsed_s: 1.0, ..Counted::default() };
        let [row] = &rows(&counted)[..] else { panic!("one row") };
        assert_eq!((row.times, row.times_per_s, row.waited_share, row.covered_by_5us), (0, Some(0.0), None, None));
        let unknown = rows(&Counted { elapsed_s: 1.0, ..Counted::default() });
        assert_eq!(unknown[0].times_per_s, None);
    }
}
