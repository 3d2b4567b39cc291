//! How much CPU another process would get.

use super::record::{Row, TotalRow};
use record::{Finding, Origin, Unit};

/// Of the CPU that leaves it the least.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let totals = || rows.iter().filter_map(|(place, row)| Some((*place, row.total()?)));
    let least = totals().min_by(|a, b| a.1.shares.cputime_share.total_cmp(&b.1.shares.cputime_share));
    let Some((place, total)) = least else { return Vec::new() };
    let share = total.shares.cputime_share;
    let words =
        format!("An additional process would get {} of CPU {}{}", Unit::Share.words(share), total.cpu, from_to(total));
    let source = Origin::of("load", place, format!("CPU {}, one of {}", total.cpu, totals().count()), "cputime_share");
    vec![Finding::new("obtainable_cpu", words, Unit::Share, share.into(), source).repeated()]
}

/// How far the intervals differ, which one alone cannot say.
fn from_to(total: &TotalRow) -> String {
    if total.intervals < 2 {
        return String::new();
    }
    let (low, high) = (Unit::Share.words(total.cputime_least_share), Unit::Share.words(total.cputime_most_share));
    format!(" (between {low} and {high} in single intervals)")
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn the_least_of_the_cpus_is_named() {
        let (first, second) = (row(0, 0.99), row(1, 0.97));
        let found = findings(&[(8, &first), (9, &second)]);
        assert_eq!(
            found[0].to_string(),
            "An additional process would get 97.0 % of CPU 1 (between 92.0 % and 98.0 % in single intervals) \
             [load: CPU 1, one of 2]"
        );
        assert_eq!((found[0].value, found[0].source.row), (0.97, 9));
    }

    #[test]
    fn one_interval_differs_from_none() {
        let Row::Total(total) = row(0, 0.99) else { panic!("the sample is a total") };
        let found = findings(&[(0, &Row::Total(TotalRow { intervals: 1, ..total }))]);
        assert_eq!(found[0].words, "An additional process would get 99.0 % of CPU 0");
    }
}
