//! Values as text: numbers with three significant digits and a unit that fits, counts, and moments in UTC, since
//! records travel between time zones.

use instruments::digits::three_digits;
use jiff::Timestamp;

/// Writes a time in nanoseconds: `8.9 ns`, `6.10 µs`, `4.03 ms`.
pub fn nanoseconds(ns: f64) -> String {
    let (value, unit) = scaled(ns);
    format!("{} {unit}", three_digits(value))
}

/// Writes a time in microseconds: `6.10 µs`.
pub fn microseconds(us: f64) -> String {
    nanoseconds(us * 1e3)
}

/// Converts a time in nanoseconds to the unit that leaves at most three digits before the point.
pub fn scaled(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        below if below < 999.5 => (ns, "ns"),
        below if below < 999.5e3 => (ns / 1e3, "µs"),
        below if below < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    }
}

/// Writes a number of seconds shortly, for an axis: `32s`, `17m`, `2.3h`.
pub fn span_label(seconds: u32) -> String {
    match seconds {
        below if below < 60 => format!("{below}s"),
        below if below < 3_600 => format!("{}m", below / 60),
        hours => format!("{:.1}h", f64::from(hours) / 3_600.0),
    }
}

/// Writes a ratio: `12.0×`.
pub fn ratio(value: f64) -> String {
    format!("{}×", three_digits(value))
}

/// Writes a slowdown with the digits that distinguish a small one from none: `1.0012`, `123.4`.
pub fn slowdown(factor: f64) -> String {
    if factor < 100.0 { format!("{factor:.4}") } else { format!("{factor:.1}") }
}

/// Parts per million: `0.031 ppm`.
pub fn ppm(value: f64) -> String {
    format!("{} ppm", three_digits(value))
}

/// Writes the ends of an interval: `11.9–12.8`.
pub fn range(low: f64, high: f64) -> String {
    format!("{}–{}", three_digits(low), three_digits(high))
}

/// Writes a frequency.
pub fn megahertz(mhz: f64) -> String {
    if mhz.abs() < 1e15 { format!("{mhz:.1} MHz") } else { format!("{mhz:.2e} MHz") }
}

/// Writes a number of things, in groups of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes `1 thread`, `2 threads`.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Writes `too few runs; 6 are needed`: no text has the one without the other.
pub fn too_few(what: &str, needed: usize) -> String {
    format!("too few {what}; {needed} are needed")
}

/// Writes a value without a unit: `0.94`, `12.0`, `997`.
pub fn number(value: f64) -> String {
    three_digits(value)
}

/// Writes a moment, in seconds since 1970, as `2026-11-21 10:09`.
pub fn moment(unix_s: u64) -> String {
    match i64::try_from(unix_s).ok().and_then(|second| Timestamp::from_second(second).ok()) {
        Some(moment) => moment.strftime("%Y-%m-%d %H:%M").to_string(),
        // A record of another machine may have any number.
        None => format!("{unix_s} s after 1970"),
    }
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a character for each share from 0 to 1; a dot for an unknown one.
///
/// Only exactly 0 is blank, and only exactly 1 is a full block.
pub fn levels(shares: impl IntoIterator<Item = Option<f64>>) -> String {
    let level = |share: f64| match share {
        nothing if nothing <= 0.0 => 0,
        all if all >= 1.0 => 8,
        some => (some * 8.0).round().clamp(1.0, 7.0) as usize,
    };
    shares.into_iter().map(|share| share.map_or('·', |share| BLOCKS[level(share)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(nanoseconds(8.94), "8.94 ns");
        assert_eq!(nanoseconds(999.7), "1.00 µs");
        assert_eq!(nanoseconds(24_138.0), "24.1 µs");
        assert_eq!(nanoseconds(3e6), "3.00 ms");
        assert_eq!(nanoseconds(2.5e9), "2.50 s");
        assert_eq!(nanoseconds(0.0), "0.00 ns");
        assert_eq!(nanoseconds([0.0_f64; 0].iter().sum()), "0.00 ns");
        assert_eq!(ratio(0.0734), "0.073×");
        assert_eq!(range(0.951, 12.84), "0.95–12.8");
        // Nothing above 0 is written as 0.
        assert_eq!(
            (number(0.000_03), number(0.000_96), number(0.0)),
            ("0.00003".into(), "0.0010".into(), "0.00".into())
        );
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn a_moment_is_written_in_utc() {
        assert_eq!(moment(0), "1970-01-01 00:00");
        assert_eq!(moment(1_582_934_400 + 61), "2020-02-29 00:01");
        assert_eq!(moment(u64::MAX), "18446744073709551615 s after 1970");
    }

    #[test]
    fn only_zero_is_blank_and_only_one_is_full() {
        assert_eq!(levels([Some(0.0), Some(0.001), Some(0.5), Some(0.999), Some(1.0), None]), " ▁▄▇█·");
    }
}
