//! Flags of the experiments that run a program.

use crate::client::Client;
use clap::Args;
use harness::{UsageError, parse_count, parse_duration};
use instruments::statistics::Interval;
use regex_lite::Regex;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The program.
#[derive(Args, Clone, Debug)]
pub struct ProgramFlags {
    /// Program to run, and its arguments
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", num_args = 1..)]
    pub program: Vec<OsString>,

    /// Time that PROGRAM, or the server of --client, has to terminate after SIGTERM [default: 10s; 2s after Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Option<Duration>,
}

/// The default of `--patience`.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The surroundings of each run, and the numbers in its output. They need a flag of the group `compared`, which names what
/// is compared.
#[derive(Args, Clone, Debug)]
pub struct RunFlags {
    /// Also compare a number in the program's output: the first capture group, or the whole match. Name it with
    /// tps=REGEX
    #[arg(long, value_name = "REGEX", requires = "compared")]
    pub metric: Vec<Pattern>,

    /// Higher values are better for the named metrics [default: all]
    #[arg(long, value_name = "NAME", requires = "metric", num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub higher_is_better: Option<Vec<String>>,

    /// Shell command to run before each run
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub prepare: Option<String>,

    /// Shell command to run after each run
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub cleanup: Option<String>,

    /// PROGRAM is a server, and COMMAND its client, a shell command: COMMAND starts once the server listens, and its
    /// end ends the run; its run time is the wall time, and --metric searches its output
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub client: Option<String>,

    /// TCP port of the server, passed to the client as $PORT [default: the lowest port that the server opens first]
    #[arg(long, value_name = "PORT", requires = "client", value_parser = clap::value_parser!(u16).range(1..),
          allow_hyphen_values = true)]
    pub port: Option<u16>,

    /// Warm-up runs of each variant [range: 0 to 1000]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(0..=1000),
          allow_hyphen_values = true)]
    pub warmup: Option<u64>,
}

/// The runs of a comparison of variants of one program.
#[derive(Args, Clone, Debug)]
pub struct ComparisonFlags {
    #[command(flatten)]
    pub runs_of_each: RunFlags,

    /// Measured runs of each variant; with 24 comparisons or more (locks and pass, times metrics), at least 7 [default: 6
    /// to 30, until the confidence interval of the ratio is narrower than 2 %] [range: 6 to 10000]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(6..=10_000),
          allow_hyphen_values = true)]
    pub runs: Option<u64>,
}

impl RunFlags {
    /// Returns the numbers that are compared.
    ///
    /// # Errors
    /// Two have one name; a name that none has.
    pub fn metrics(&self) -> Result<Vec<Metric>, UsageError> {
        let names: Vec<&str> = self.metric.iter().map(|pattern| pattern.name.as_str()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
            return Err(UsageError(format!(
                "--metric {}: two metrics have this name; name them with NAME=REGEX",
                twice.1
            )));
        }
        let higher = self.higher_is_better.as_ref();
        if let Some(unknown) = higher.into_iter().flatten().find(|name| !names.contains(&name.as_str())) {
            return Err(UsageError(format!("--higher-is-better={unknown}: no --metric has this name")));
        }
        let is_higher = |name: &String| higher.is_some_and(|of| of.is_empty() || of.contains(name));
        let metric =
            |pattern: &Pattern| Metric { pattern: pattern.clone(), higher_is_better: is_higher(&pattern.name) };
        Ok(self.metric.iter().map(metric).collect())
    }

    /// Returns the client of a server, which has `patience` to end.
    pub fn client(&self, patience: Duration) -> Option<Client> {
        self.client.clone().map(|command| Client { command, port: self.port, patience })
    }
}

/// A program, and its runs in a comparison.
#[derive(Args, Clone, Debug)]
pub struct LaunchFlags {
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub comparison: ComparisonFlags,
}

/// A pattern for a number that a program prints: `NAME=REGEX`, or a pattern alone.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub name: String,
    pattern: Regex,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_- ".contains(letter))
        };
        let (name, pattern) = match text.split_once('=').filter(|(name, _)| is_name(name)) {
            Some((name, pattern)) => (name, pattern),
            None => (text, text),
        };
        let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
        Ok(Self { name: name.to_owned(), pattern })
    }
}

/// A number that is compared, and the direction in which it is better.
#[derive(Clone, Debug)]
pub struct Metric {
    pub pattern: Pattern,
    pub higher_is_better: bool,
}

impl Metric {
    /// Finds the number in the output of a run, or returns why it is not there.
    ///
    /// # Errors
    /// The output has no such number, several, or one that is not above 0.
    pub fn find(&self, output: &str) -> Result<f64, String> {
        self.pattern.find(output).map_err(|why| format!("--metric {}: {why}", self.pattern.name))
    }
}

/// The reason why a run's output has no such number.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    Nothing,
    Several(usize),
    NoNumber(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(formatter, "no match in the program's output"),
            Self::Several(count) => write!(formatter, "{count} matches in one run; write a pattern that matches once"),
            Self::NoNumber(text) => write!(formatter, "{text:?} is not a number above 0"),
        }
    }
}

impl Pattern {
    /// Returns the number in the output.
    ///
    /// # Errors
    /// It is not there, or not once, or none that can be compared.
    pub fn find(&self, output: &str) -> Result<f64, Missing> {
        let found: Vec<regex_lite::Captures<'_>> = self.pattern.captures_iter(output).collect();
        let [one] = &found[..] else {
            return Err(if found.is_empty() { Missing::Nothing } else { Missing::Several(found.len()) });
        };
        let text = one.get(1).or_else(|| one.get(0)).map_or("", |group| group.as_str());
        let number = text.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
        number.ok_or_else(|| Missing::NoNumber(text.chars().take(40).collect()))
    }
}

/// The change for the worse that fails the command (`--fail-if slower:5%`): the percentage by which a variant may make
/// the program worse.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, output: &str) -> Result<f64, Missing> {
        pattern.parse::<Pattern>().unwrap().find(output)
    }

    #[test]
    fn a_number_is_the_first_group_of_the_only_match() {
        assert_eq!(found(r"transactions: *\d+ *\((\d+\.\d+) per sec", "transactions:  12 (3.50 per sec.)"), Ok(3.5));
        assert_eq!(found(r"\d+", "took 17 s"), Ok(17.0));
        assert_eq!(found(r"\d+", "none"), Err(Missing::Nothing));
        assert_eq!(found(r"\d+", "1 and 2"), Err(Missing::Several(2)));
        assert_eq!(found("a.", "ab"), Err(Missing::NoNumber("ab".into())));
        assert_eq!(found(r"\d+", "0"), Err(Missing::NoNumber("0".into())));
    }

    #[test]
    fn what_stands_before_an_equals_sign_is_a_name_if_it_can_be_one() {
        assert_eq!("tps=(\\d+)".parse::<Pattern>().unwrap().name, "tps");
        assert_eq!("(a=\\d+)".parse::<Pattern>().unwrap().name, "(a=\\d+)");
        assert!("tps=(".parse::<Pattern>().is_err());
    }
}
