//! The series that a name means: one as the trend lists it, one as `contend compare` prints it, or a part of one.

/// The match of a name with a series; the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    Same,
    /// The series has all parts of the name, in this order, and more: a comparison omits parts that do not vary there.
    Named,
    /// The name is a part of the text.
    Part,
}

/// Returns the match of the wanted name with that of a series; `None` without one.
pub fn likeness(wanted: &str, series: &str) -> Option<NameMatch> {
    let (wanted, series) = (plain(wanted), plain(series));
    if wanted == series {
        return Some(NameMatch::Same);
    }
    let mut of_series = pieces(&series);
    if pieces(&wanted).all(|piece| of_series.any(|other| other == piece)) {
        return Some(NameMatch::Named);
    }
    series.contains(&wanted).then_some(NameMatch::Part)
}

/// Returns the name as it can be typed: lower case, single spaces, and `us` for either sign of a microsecond.
fn plain(name: &str) -> String {
    let words: Vec<String> = name.to_lowercase().split_whitespace().map(str::to_owned).collect();
    words.join(" ").replace(['\u{b5}', '\u{3bc}'], "u")
}

/// Returns the parts between commas and colons.
fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.split([',', ':']).map(str::trim).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_comparison_is_found_among_longer_names() {
        let series = "latency: std, 1 thread, hold 6.10 \u{b5}s, on box: lock, median";
        let like = |wanted| likeness(wanted, series);
        assert_eq!(like(series), Some(NameMatch::Same));
        assert_eq!(like("std, 1 thread: lock, median"), Some(NameMatch::Named));
        assert_eq!(like("Latency: std, hold 6.10 us: lock, median"), Some(NameMatch::Named));
        assert_eq!(like("hold 6.1"), Some(NameMatch::Part));
        assert_eq!(like("std, 11 threads: lock, median"), None);
        assert_eq!(like("median, std"), None);
    }
}
