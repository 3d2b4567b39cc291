//! A number that a program prints, and what finds it.

use regex_lite::Regex;
use std::fmt;
use std::str::FromStr;

/// `NAME=REGEX`, or a pattern alone.
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
