//! `--fail-if slower:5%`: the slowdown that fails the command.

use super::record::{SwapRow, Verdict, change};
use std::fmt;
use std::str::FromStr;

/// By how many per cent a lock may make the program worse.
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
    /// Whether all that is plausible is beyond it.
    fn is_exceeded(self, row: &SwapRow) -> bool {
        let Some(ratio) = row.ratio_ci.filter(|_| row.verdict == Verdict::Worse) else { return false };
        let least = if ratio.low > 1.0 { ratio.low } else { 1.0 / ratio.high };
        least > 1.0 + self.percent / 100.0
    }
}

/// Describes the rows beyond a limit.
pub fn exceeded(limits: &[Limit], rows: &[SwapRow]) -> Vec<String> {
    let of = |limit: &Limit| {
        let found = rows.iter().filter(|row| row.is_lock() && limit.is_exceeded(row));
        found.map(|row| format!("--fail-if {limit}: {}: {}", row.lock, change(row))).collect::<Vec<_>>()
    };
    limits.iter().flat_map(of).collect()
}
