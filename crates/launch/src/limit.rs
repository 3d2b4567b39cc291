//! `--fail-if slower:5%`: the change for the worse that fails the command.

use instruments::statistics::Interval;
use std::fmt;
use std::str::FromStr;

/// The percentage by which a variant may make the program worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    percent: f64,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must have the form slower:5%".to_owned();
        let percent = text.strip_prefix("slower:").and_then(|rest| rest.strip_suffix('%')).ok_or_else(wrong)?;
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        if !(0.0..=1e6).contains(&percent) {
            return Err("the percentage must be 0 or more".into());
        }
        Ok(Self { percent })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "slower:{}%", self.percent)
    }
}

impl Limit {
    /// Returns the share by which a variant may be worse.
    pub fn share(self) -> f64 {
        self.percent / 100.0
    }

    /// Returns whether every plausible ratio of something that is worse is beyond the limit.
    pub fn is_exceeded(self, ratio: Interval) -> bool {
        let least = if ratio.low > 1.0 { ratio.low } else { 1.0 / ratio.high };
        least > 1.0 + self.share()
    }
}
