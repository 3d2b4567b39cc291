//! Figures of any kind in words.

use super::figures::{count, megahertz, nanoseconds, percent, ratio};
use instruments::statistics::Interval;

/// What a number counts, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// In nanoseconds.
    Time,
    /// 0 to 1.
    Share,
    PerSecond,
    Number,
    Times,
    Megahertz,
    Probability,
}

impl Quantity {
    pub fn words(self, value: f64) -> String {
        match self {
            Self::Time => nanoseconds(value),
            Self::Share => percent(value),
            Self::PerSecond => format!("{}/s", large(value)),
            Self::Number if value.abs() < 1e15 && value.fract() == 0.0 => grouped(value),
            Self::Number => large(value),
            Self::Times => ratio(value),
            Self::Megahertz => megahertz(value),
            Self::Probability if value == 0.0 || (1e-3..=1.0).contains(&value) => format!("{value:.6}"),
            Self::Probability => format!("{value:.3e}"),
        }
    }

    /// In which unit the value is, as names of record fields end.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Share => "share",
            Self::PerSecond => "per_s",
            Self::Number => "number",
            Self::Times => "times",
            Self::Megahertz => "mhz",
            Self::Probability => "probability",
        }
    }

    /// `value (low to high)`.
    pub fn words_with(self, value: f64, interval: Option<Interval>) -> String {
        let ends = interval.map(|ends| format!(" ({} to {})", self.words(ends.low), self.words(ends.high)));
        self.words(value) + &ends.unwrap_or_default()
    }

    /// By this name the page's script finds its own way to write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Share => "share",
            Self::PerSecond => "per_second",
            Self::Number => "number",
            Self::Times => "times",
            Self::Megahertz => "megahertz",
            Self::Probability => "probability",
        }
    }
}

fn grouped(whole: f64) -> String {
    let sign = if whole < 0.0 { "-" } else { "" };
    format!("{sign}{}", count(whole.abs() as u64))
}

/// Three digits and a prefix.
fn large(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 1e9 => format!("{:.2} G", value / 1e9),
        size if size >= 1e6 => format!("{:.2} M", value / 1e6),
        size if size >= 1e4 => format!("{:.1} k", value / 1e3),
        size if size >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
