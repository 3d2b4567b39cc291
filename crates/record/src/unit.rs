//! Units of values, and how values are written.

use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::fewest_samples;
use instruments::statistics::summary::CONFIDENCE;
use serde::{Deserialize, Serialize};
use terminal::{count, megahertz, nanoseconds, percent, ratio, too_few};

/// The unit of a number, which decides how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A share from 0 to 1.
    Share,
    /// A ratio.
    Times,
    /// Megahertz.
    Mhz,
    /// Cycles of the CPU.
    Cycles,
    /// A rate.
    PerS,
    /// A number of things.
    Number,
    /// A probability from 0 to 1, perhaps far below the least share that is written.
    Probability,
}

impl Unit {
    /// Writes the value with three digits.
    pub fn words(self, value: f64) -> String {
        match self {
            Self::Ns => nanoseconds(value),
            Self::Share => percent(value),
            Self::PerS => format!("{}/s", large(value)),
            Self::Number => number(value),
            Self::Times => ratio(value),
            Self::Mhz => megahertz(value),
            Self::Cycles => format!("{value:.1} cycles"),
            Self::Probability if value == 0.0 || (1e-3..=1.0).contains(&value) => format!("{value:.6}"),
            Self::Probability => format!("{value:.3e}"),
        }
    }

    /// Returns the unit as names of record fields end.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Share => "share",
            Self::PerS => "per_s",
            Self::Number => "number",
            Self::Times => "times",
            Self::Mhz => "mhz",
            Self::Cycles => "cycles",
            Self::Probability => "probability",
        }
    }

    /// Writes `value (low–high)`.
    pub fn words_with(self, value: f64, interval: Option<Interval>) -> String {
        self.with(value, interval, Self::words)
    }

    /// Writes the value, with one digit where its interval is wider than itself.
    pub fn words_within(self, value: f64, interval: Option<Interval>) -> String {
        if is_wide(value, interval) { self.coarse(value, 1, Self::words) } else { self.words(value) }
    }

    fn with(self, value: f64, interval: Option<Interval>, words: fn(Self, f64) -> String) -> String {
        let Some(ends) = interval else { return words(self, value) };
        let (value, ends) = match is_wide(value, interval) {
            true => (self.coarse(value, 1, words), [ends.low, ends.high].map(|end| self.coarse(end, 2, words))),
            false => (words(self, value), [ends.low, ends.high].map(|end| words(self, end))),
        };
        let [low, high] = ends;
        format!("{value} ({})", span(low, high))
    }

    /// Writes so many digits of the value.
    fn coarse(self, value: f64, digits: usize, words: fn(Self, f64) -> String) -> String {
        let rounded = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
        without_trailing_zeros(&words(self, rounded))
    }

    /// Writes the value in a sentence: a number of things is a whole number.
    pub fn rounded(self, value: f64) -> String {
        match self {
            Self::PerS => format!("{}/s", count(value.round() as u64)),
            Self::Number if value < 10.0 => format!("{value:.1}"),
            Self::Number => count(value.round() as u64),
            _ => self.words(value),
        }
    }

    /// Writes `value (low–high)`, rounded.
    pub fn rounded_with(self, figure: Estimate) -> String {
        self.with(figure.value, figure.interval, Self::rounded)
    }

    /// Writes the value in a sentence: `value (95 % CI low–high)`, rounded; a value without an interval is marked so.
    pub fn estimate(self, figure: Estimate) -> String {
        let why = || too_few("repetitions for a confidence interval", fewest_samples(0.5, CONFIDENCE) as usize);
        match figure.interval {
            Some(_) => self.rounded_with(figure).replacen('(', "(95 % CI ", 1),
            None => format!("{} ({})", self.rounded(figure.value), why()),
        }
    }

    /// Returns the name by which the page's script chooses how to write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ns => "time",
            Self::Share => "share",
            Self::PerS => "per_second",
            Self::Number => "number",
            Self::Times => "times",
            Self::Mhz => "megahertz",
            Self::Cycles => "cycles",
            Self::Probability => "probability",
        }
    }
}

/// Returns whether an interval is wider than its value, so that not even the first digit is certain.
fn is_wide(value: f64, interval: Option<Interval>) -> bool {
    interval.is_some_and(|ends| ends.width() > value.abs())
}

/// Removes zeros behind the point of the number at the begin: `40.0 ns` becomes `40 ns`.
fn without_trailing_zeros(words: &str) -> String {
    let end = words.find(|c: char| !c.is_ascii_digit() && !",.-".contains(c)).unwrap_or(words.len());
    let (number, unit) = words.split_at(end);
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => words.to_owned(),
    }
}

/// Writes `9.0–11.0 µs`: a unit that both ends share is written once.
fn span(low: String, high: String) -> String {
    let unit = |words: &str| words.find(|c: char| !c.is_ascii_digit() && !",.-".contains(c)).unwrap_or(words.len());
    let (end, other) = (unit(&low), unit(&high));
    // With an exponent, the digits behind the unit's first letter are part of the number.
    let is_shared = low[end..] == high[other..] && !low[end..].contains(|c: char| c.is_ascii_digit());
    if is_shared { format!("{}–{high}", &low[..end]) } else { format!("{low}–{high}") }
}

fn grouped(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", count(value.abs() as u64))
}

/// Writes a number of things, or a mean of such numbers: all in the same way, so that a column can be compared.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 100.0 || value.fract() == 0.0 => grouped(value.round()),
        _ => format!("{value:.2}"),
    }
}

/// Writes three digits and a prefix.
fn large(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 1e9 => format!("{:.2} G", value / 1e9),
        size if size >= 1e6 => format!("{:.2} M", value / 1e6),
        size if size >= 1e4 => format!("{:.1} k", value / 1e3),
        size if size >= 100.0 => grouped(value.round()),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_wider_than_its_value_leaves_one_digit() {
        let words =
            |unit: Unit, value: f64, low: f64, high: f64| unit.words_with(value, Some(Interval::new(low, high)));
        assert_eq!(words(Unit::Times, 36.0, 0.0021, 120.0), "40× (0.0021–120×)");
        assert_eq!(words(Unit::Ns, 11_800.0, 0.0, 23_400.0), "10 µs (0 ns–23 µs)");
        assert_eq!(words(Unit::Share, 0.034, 0.001, 0.07), "3 % (0.1–7 %)");
        assert_eq!(words(Unit::Ns, 11_800.0, 11_000.0, 12_000.0), "11.8 µs (11.0–12.0 µs)");
        let rate = Estimate::new(91_670.0, Some(Interval::new(10_234.0, 210_000.0)));
        assert_eq!(Unit::PerS.estimate(rate), "90,000/s (95 % CI 10,000–210,000/s)");
        assert_eq!(Unit::PerS.words_within(91_670.0, None), "91.7 k/s");
    }

    #[test]
    fn numbers_of_a_column_are_written_in_one_way() {
        let words = [5_481.6, 5_141.0, 8_932.4, 10_100.2, 3.0, 2.5].map(|value| Unit::Number.words(value));
        assert_eq!(words, ["5,482", "5,141", "8,932", "10,100", "3", "2.50"]);
        assert_eq!([5_481.6, 10_100.2].map(|value| Unit::PerS.words(value)), ["5,482/s", "10.1 k/s"]);
    }
}
