//! Statements about the rows, the values that are compared with other records, and the one of 1998.

use super::record::{Row, TotalRow};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Finding, Metric, Origin, ThenAndNow, Unit, VariationSource};

/// The value of 1998: the work of two grinders on one CPU, as a share of the work that one does alone.
pub const TAKING_TURNS_SHARE: f64 = 0.999_2;

/// Returns the time that was left over, or that a thread of the spinner's priority got, of the CPU with the least.
///
/// A spinner of idle priority gets no time that another thread wants. An additional thread of normal priority gets more,
/// since it takes its part of that of the others.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let totals = || rows.iter().filter_map(|(place, row)| Some((*place, row.total()?)));
    let least = totals().min_by(|a, b| a.1.shares.cputime_share.total_cmp(&b.1.shares.cputime_share));
    let Some((place, total)) = least else { return Vec::new() };
    let share = total.shares.cputime_share;
    let obtained = match total.is_idle() {
        true => format!("{} of CPU {} is left over by all other threads", Unit::Share.words(share), total.cpu),
        false => {
            format!("A thread of priority {} gets {} of CPU {}", total.priority, Unit::Share.words(share), total.cpu)
        }
    };
    let words = format!("{obtained}{}", from_to(total));
    let source = Origin::of("load", place, format!("CPU {}, one of {}", total.cpu, totals().count()), "cputime_share");
    vec![Finding::new("obtainable_cpu", words, Unit::Share, share.into(), source).repeated()]
}

/// Returns the range of the intervals; nothing for a single one.
fn from_to(total: &TotalRow) -> String {
    if total.intervals < 2 {
        return String::new();
    }
    let (low, high) = (Unit::Share.words(total.cputime_least_share), Unit::Share.words(total.cputime_most_share));
    format!(" (between {low} and {high} in single intervals)")
}

/// Returns the time that the spinner gets, and the time that it takes from others.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let share = |cell: &Cell, figure, value: f64, interval: Option<Interval>, better| Metric {
        unit: Unit::Share,
        better,
        variation: VariationSource::Others,
        ..Metric::time(cell, figure, value, interval)
    };
    if let Some(total) = row.total() {
        let cell = Cell::of([format!("CPU {}", total.cpu)]).with("priority", format!("at {}", total.priority));
        let got = share(&cell, "got", total.shares.cputime_share, None, Better::More);
        let taken = total.taken_share.map(|taken| share(&cell, "taken", taken, total.taken_ci, Better::Neither));
        let efficiency = total.efficiency_share.map(|efficiency| Metric {
            variation: VariationSource::Elapsed,
            ..share(&cell, "efficiency", efficiency, total.efficiency_ci, Better::More)
        });
        return [Some(got), taken, efficiency].into_iter().flatten().collect();
    }
    let cell = Cell::of(["all CPUs".to_owned()]);
    let taken =
        row.all_cpus().and_then(|all| Some(share(&cell, "taken", all.taken_share?, all.taken_ci, Better::Neither)));
    taken.into_iter().collect()
}

/// Compares with the CPU meter of Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998.
pub fn then_and_now(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    let Some(total) = rows.iter().find_map(|(_, row)| row.total()) else { return Vec::new() };
    let today = total.efficiency_share.map(|value| Estimate::new(value, total.efficiency_ci));
    vec![ThenAndNow::new(1998, "work done by two spinners on one CPU", Unit::Share, TAKING_TURNS_SHARE, today)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns a CPU of which a spinner got this share; 5 points less in its worst interval, one more in its best.
    fn row(cpu: usize, got: f64) -> Row {
        serde_json::from_value(json!({
            "measurement": "total", "time_s": 6.0, "cpu": cpu, "intervals": 12, "priority": "idle", "load_share": 1.0 - got,
            "cputime_share": got, "grind_share": got, "lost_inside_share": 0.0, "proc_stat_share": 0.0, "exec_share": null,
            "speed_share": 1.0, "cputime_most_share": got + 0.01, "cputime_least_share": got - 0.05, "taken_share": null,
            "taken_ci": null, "efficiency_share": 0.998, "efficiency_ci": [0.99, 1.0], "proc_stat_resolution_share": 0.001
        }))
        .expect("the sample is as the experiment writes it")
    }

    #[test]
    fn cpu_with_the_least_time_is_named() {
        let (first, second) = (row(0, 0.99), row(1, 0.97));
        let found = findings(&[(8, &first), (9, &second)]);
        assert_eq!(
            found[0].to_string(),
            "97.0 % of CPU 1 is left over by all other threads (between 92.0 % and 98.0 % in single intervals) \
             [load: CPU 1, one of 2]"
        );
        assert_eq!((found[0].value, found[0].source.row), (0.97, 9));
    }

    #[test]
    fn one_interval_has_no_range() {
        let Row::Total(total) = row(0, 0.99) else { panic!("the sample is a total") };
        let found = findings(&[(0, &Row::Total(TotalRow { intervals: 1, ..total }))]);
        assert_eq!(found[0].words, "99.0 % of CPU 0 is left over by all other threads");
    }

    /// Next to one busy loop, a spinner of idle priority gets 1.6 % and a second loop of normal priority 50 %.
    #[test]
    fn time_of_a_thread_is_stated_with_its_priority_only() {
        let Row::Total(total) = row(0, 0.5) else { panic!("the sample is a total") };
        let normal = Row::Total(TotalRow { priority: "nice 0".into(), intervals: 1, ..total });
        assert_eq!(findings(&[(0, &normal)])[0].words, "A thread of priority nice 0 gets 50.0 % of CPU 0");
    }
}
