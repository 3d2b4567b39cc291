//! Values as text: numbers with three significant digits and a unit that fits, counts, and moments in UTC, since
//! records travel between time zones.

use jiff::Timestamp;

/// Writes a time in nanoseconds: `8.9 ns`, `6.10 µs`, `4.03 ms`.
pub fn nanoseconds(ns: f64) -> String {
    let (value, unit) = scaled(ns);
    format!("{} {unit}", three_digits(value))
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

/// Writes a share from 0 to 1 in per cent.
pub fn percent(share: f64) -> String {
    // An empty sum is minus zero; less than the last digit is none either.
    let percent = if (share * 100.0).abs() < 5e-5 { 0.0 } else { share * 100.0 };
    if (99.9..99.995).contains(&percent) {
        // Nearly all: what is missing matters.
        format!("{percent:.2} %")
    } else if (1.0..1e15).contains(&percent) || percent == 0.0 {
        format!("{percent:.1} %")
    } else {
        format!("{} %", three_digits(percent))
    }
}

/// Writes a ratio: `12.0×`.
pub fn ratio(value: f64) -> String {
    format!("{}×", three_digits(value))
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

fn three_digits(value: f64) -> String {
    // An empty sum is minus zero.
    let value = value + 0.0;
    match value.abs() {
        // A value from a foreign record: hundreds of digits would not be useful.
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.095 || size == 0.0 => format!("{value:.2}"),
        size if size >= 0.0095 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// Writes a moment, in seconds since 1970, as `2026-11-21 10:09`.
pub fn moment(unix_s: u64) -> String {
    match i64::try_from(unix_s).ok().and_then(|second| Timestamp::from_second(second).ok()) {
        Some(moment) => moment.strftime("%Y-%m-%d %H:%M").to_string(),
        // A record of another machine may have any number.
        None => format!("{unix_s} s after 1970"),
    }
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
        assert_eq!(ratio(0.0734), "0.073×");
        assert_eq!(range(0.951, 12.84), "0.95–12.8");
    }

    #[test]
    fn small_shares_keep_their_digits() {
        assert_eq!(percent(0.85677), "85.7 %");
        assert_eq!(percent(0.00137), "0.14 %");
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(percent(-0.0), "0.0 %");
        assert_eq!(percent(1e-7), "0.0 %");
        assert_eq!(percent(1e-6), "0.0001 %");
        assert_eq!(nanoseconds([0.0_f64; 0].iter().sum()), "0.00 ns");
        assert_eq!(percent(1.0), "100.0 %");
        assert_eq!(percent(0.9996), "99.96 %");
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
}
