//! Durations on the command line: a number and a unit, `6.1us`.

use crate::parse_count::ungrouped;
use std::time::Duration;

const UNITS: &[(&[&str], f64)] = &[
    (&["ns", "nsec"], 1.0),
    (&["us", "µs", "μs", "usec"], 1e3),
    (&["ms", "msec"], 1e6),
    (&["s", "sec", "secs", "second", "seconds"], 1e9),
    (&["min", "m", "mins", "minute", "minutes"], 6e10),
    (&["h", "hr", "hour", "hours"], 3.6e12),
];

/// Parses a span with its unit, such as `6.1us`, `250ns` or `0`; at most an hour.
pub fn span(text: &str) -> Result<Duration, String> {
    bounded(with_unit(text)?, (0.0, HOUR_NS), "an hour")
}

/// Parses a span as [`span`] does; at most a day.
pub fn span_of_day(text: &str) -> Result<Duration, String> {
    bounded(with_unit(text)?, (0.0, 24.0 * HOUR_NS), "1 day")
}

/// Parses a number with a unit into nanoseconds.
fn with_unit(text: &str) -> Result<f64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_alphabetic());
    let unit = text[digits.len()..].trim();
    let number: f64 = number(digits)
        .ok_or_else(|| "not a number with a unit; write it like 250ns, 6.1us, 2ms, 1s or 1h".to_owned())?;
    match UNITS.iter().find(|(names, _)| names.contains(&unit)) {
        Some((_, factor)) => Ok(number * factor),
        None if unit.is_empty() && number == 0.0 => Ok(0.0),
        None if unit.is_empty() && number < 0.0 => Err("must not be negative".into()),
        None if unit.is_empty() => {
            let digits = digits.trim();
            Err(format!("the unit is missing; write {digits}us or {digits}ms, for example (also ns, s, min and h)"))
        }
        None => Err(format!("`{unit}` is not a unit of time; use ns, us, ms, s, min or h")),
    }
}

/// Parses a time budget in seconds, with or without a unit: `2`, `0.5`, `90s`, `2min`, `8h`.
///
/// More than 0, at most a week.
pub fn budget(text: &str) -> Result<Duration, String> {
    let ns = match number(text) {
        Some(seconds) => seconds * 1e9,
        None => with_unit(text)?,
    };
    if ns == 0.0 { Err("must be greater than 0".into()) } else { bounded(ns, (1e6, 168.0 * HOUR_NS), "a week") }
}

/// Returns whether it is a number without a unit, which a user of another tool may mean in microseconds.
pub fn lacks_unit(text: &str) -> bool {
    number(text).is_some_and(|number| number > 0.0 && number.is_finite())
}

/// Parses a hold time: at most 10 ms, so that a window has room for several iterations.
pub fn hold(text: &str) -> Result<Duration, String> {
    let hold = span(text)?;
    if hold > Duration::from_millis(10) { Err("must be at most 10ms".into()) } else { Ok(hold) }
}

/// Parses the length of the first event that ends a measurement.
///
/// A shorter one than the minimum has no cause that a user could remove.
pub fn stop_above(text: &str) -> Result<Duration, String> {
    match span(text)? {
        limit if limit < Duration::from_micros(1) => {
            Err("must be at least 1us: the clock and the core alone cause shorter ones".into())
        }
        limit => Ok(limit),
    }
}

/// Parses a share strictly between 0 and 1.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("must be a share between 0 and 1, such as 0.05".into()),
    }
}

/// Parses a number, with underscores between its digits if there are any.
fn number(text: &str) -> Option<f64> {
    ungrouped(text.trim())?.parse().ok()
}

const HOUR_NS: f64 = 3.6e12;

fn bounded(ns: f64, (least_ns, most_ns): (f64, f64), most: &str) -> Result<Duration, String> {
    if ns.is_nan() {
        Err("not a number".into())
    } else if ns < 0.0 {
        Err("must not be negative".into())
    } else if ns < least_ns {
        Err("must be at least 1ms".into())
    } else if ns > most_ns {
        Err(format!("must be at most {most}"))
    } else {
        Ok(Duration::from_nanos(ns.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_parsed_with_their_units() {
        assert_eq!(span("6.1us"), Ok(Duration::from_nanos(6_100)));
        assert_eq!(span("6.1µs"), Ok(Duration::from_nanos(6_100)));
        assert_eq!(span("250 ns"), Ok(Duration::from_nanos(250)));
        assert_eq!(span_of_day("24h"), Ok(Duration::from_secs(24 * 3600)));
        assert!(span("2h").is_err() && span_of_day("24.1h").is_err());
        assert_eq!(span("1e3ns"), Ok(Duration::from_micros(1)));
        assert_eq!(span("0"), Ok(Duration::ZERO));
        assert_eq!(span("1_000us"), Ok(Duration::from_millis(1)));
        assert_eq!(span("0.5h"), Ok(Duration::from_secs(1_800)));
    }

    #[test]
    fn budget_without_a_unit_is_in_seconds() {
        assert_eq!(budget("2"), Ok(Duration::from_secs(2)));
        assert_eq!(budget("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(budget("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(budget("8h"), Ok(Duration::from_secs(28_800)));
        assert_eq!((budget("5m"), budget("5sec")), (Ok(Duration::from_secs(300)), Ok(Duration::from_secs(5))));
    }

    #[test]
    fn invalid_duration_is_reported() {
        for (text, word) in [
            ("-1us", "negative"),
            ("-1", "negative"),
            ("1000", "1000us or 1000ms"),
            ("5parsecs", "parsecs"),
            ("us", "number"),
            ("", "number"),
            ("2h", "hour"),
            ("nan", "number"),
            ("99999s", "hour"),
        ] {
            assert!(span(text).unwrap_err().contains(word), "{text}: {:?}", span(text));
        }
        for (text, word) in [
            ("0", "greater than 0"),
            ("-3", "negative"),
            ("inf", "at most a week"),
            ("-inf", "negative"),
            ("nan", "not a number"),
            ("0.0001", "1ms"),
            ("169h", "week"),
        ] {
            assert!(budget(text).unwrap_err().contains(word), "{text}: {:?}", budget(text));
        }
    }
}
