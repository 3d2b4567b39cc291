//! Values of flags, as they are written on the command line.

use super::cells;
use harness::{parse_count, parse_duration};
use std::time::Duration;

pub fn weight_ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (1.0..=cells::highest_ratio()).contains(&ratio) => Ok(ratio),
        _ => Err(format!("must be a number from 1 to {:.0}, such as 1024", cells::highest_ratio().floor())),
    }
}

/// Below this the wake-ups of a rescheduler can take the whole CPU.
const SHORTEST_RESCHEDULER: Duration = Duration::from_micros(50);

pub fn rescheduler(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        period if period < SHORTEST_RESCHEDULER => {
            Err("must be at least 50us: below that its wake-ups can take the whole CPU".into())
        }
        period if period > Duration::from_secs(1) => Err("must be at most 1s".into()),
        period => Ok(period),
    }
}

/// Below this the wake-ups of a thread can take the whole CPU.
pub fn wake(text: &str) -> Result<Duration, String> {
    rescheduler(text)
}

pub fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration::budget(text)? {
        interval if interval < Duration::from_millis(10) => Err("must be at least 10ms".into()),
        interval => Ok(interval),
    }
}

/// A number with or without K, M or G for thousands, millions and billions.
pub fn samples(text: &str) -> Result<u64, String> {
    match parse_count::count(text)? {
        samples if (10_000..=1_000_000_000_000).contains(&samples) => Ok(samples),
        _ => Err("must be from 10K to 1000G".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_short() {
        assert_eq!(samples("256M"), Ok(256_000_000));
        assert_eq!(samples("0.5g"), Ok(500_000_000));
        assert_eq!(samples("100000"), Ok(100_000));
        for wrong in ["", "M", "-1M", "1", "2000G", "many"] {
            assert!(samples(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ratios_are_those_of_the_weights() {
        assert_eq!(weight_ratio("1024"), Ok(1024.0));
        assert!(weight_ratio("0.5").is_err() && weight_ratio("6000").is_err() && weight_ratio("nan").is_err());
    }

    #[test]
    fn a_rescheduler_that_would_take_the_cpu_is_refused() {
        assert_eq!(rescheduler("125us"), Ok(Duration::from_micros(125)));
        assert!(rescheduler("0").unwrap_err().contains("50us") && rescheduler("49us").is_err());
        assert!(rescheduler("2s").is_err());
    }
}
