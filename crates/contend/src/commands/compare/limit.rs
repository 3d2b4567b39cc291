//! `--fail-if slower:5%`: a limit that makes the command fail.

use super::judgement::Verdict;
use instruments::statistics::Interval;
use record::Better;
use std::fmt;
use std::str::FromStr;

/// A verdict and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    verdict: Verdict,
    percent: f64,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "allowed: a verdict and a percentage, such as slower:5%, faster:5% or differs:5%".to_owned();
        let (word, percent) = text.split_once(':').ok_or_else(wrong)?;
        let known = [Verdict::Slower, Verdict::Faster, Verdict::Differs];
        let verdict = known.into_iter().find(|verdict| verdict.label() == word).ok_or_else(wrong)?;
        let percent: f64 = percent.strip_suffix('%').and_then(|number| number.trim().parse().ok()).ok_or_else(wrong)?;
        if !(0.0..=1e6).contains(&percent) {
            return Err("the percentage must be 0 or more".into());
        }
        Ok(Self { verdict, percent })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}%", self.verdict.label(), self.percent)
    }
}

impl Limit {
    /// Returns whether a value of this kind can have the verdict at all.
    pub fn applies_to(&self, better: Better) -> bool {
        self.verdict == Verdict::Differs || better != Better::Neither
    }

    /// Returns whether the whole interval is beyond the limit: the verdict is this one, and the near end of the
    /// interval exceeds it.
    pub fn is_exceeded(&self, found: Verdict, ratio: Option<Interval>) -> bool {
        let called = match self.verdict {
            Verdict::Differs => [Verdict::Slower, Verdict::Faster, Verdict::Differs].contains(&found),
            wanted => found == wanted,
        };
        called && ratio.is_some_and(|ratio| least_factor(ratio) > 1.0 + self.percent / 100.0)
    }
}

/// Returns the least distance of the ratio from 1 as a factor, upwards or downwards: twice as much and half as much are
/// both 2.
fn least_factor(ratio: Interval) -> f64 {
    if ratio.low > 1.0 { ratio.low } else { 1.0 / ratio.high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_parsed_as_verdict_and_percentage() {
        assert_eq!("slower:5%".parse::<Limit>().unwrap().to_string(), "slower:5%");
        assert_eq!("differs:0.5%".parse::<Limit>().unwrap(), Limit { verdict: Verdict::Differs, percent: 0.5 });
        for wrong in ["", "slower", "slower:5", "slower:-1%", "slower:nan%", "worse:5%", "slower:5%%"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
