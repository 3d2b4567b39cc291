//! A `--metric` for a program that prints one number which can be its rate.

use crate::flags::Pattern;
use instruments::warning::WarningKind;
use regex_lite::{Regex, escape};
use serde::Serialize;

/// A pattern that finds the rate in a program's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The value of `--metric`: `rate=([0-9.]+) req/s`.
    pub metric: String,
    /// The text that it finds.
    pub found: String,
}

/// The run times show no difference, and the output has a rate that no metric names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateNotCompared {
    /// The value of `--metric` that finds it.
    pub metric: String,
    pub found: String,
}

impl RateNotCompared {
    /// Returns the only rate in the outputs: a program that runs for a fixed time does more work in it, and takes no less.
    pub fn of(outputs: &[&str]) -> Option<Self> {
        let proposal = Proposal::of(outputs)?;
        Some(Self { metric: proposal.metric, found: proposal.found.trim().to_owned() })
    }
}

impl WarningKind for RateNotCompared {
    const CODE: &'static str = "rate_not_compared";

    fn message(&self) -> String {
        let name = self.metric.split('=').next().unwrap_or_default();
        format!(
            "a rate in the output was not compared ({}): --metric '{}' --higher-is-better={name} compares it",
            self.found, self.metric
        )
    }

    fn remedy(&self) -> &'static str {
        "name the rate with --metric: a program that runs for a fixed time does more work, and takes no less time"
    }
}

/// The surroundings of numbers that are rates, the most telling first: work per second, anything per second, work that
/// was done in a fixed time. The first is the text after a number, the second the text before it.
const KINDS: [(&str, [&str; 2]); 3] = [
    (
        "rate",
        [r"(?i)^\s*(WORK\s*(/|per)\s*SECOND|[tqr]ps|iops)\b", r"(?i)\b(WORK\s*(/|per)\s*SECOND|[tqr]ps|iops)\W*$"],
    ),
    ("rate", [r"(?i)^\s*(\w+\s*)?(/|\bper\b)\s*SECOND\b", r"(?i)\b(\w+\s*(/|per)\s*SECOND|rate|throughput)\W*$"]),
    ("count", [r"(?i)^\s*WORK\b", r"(?i)\bWORK\W*$"]),
];
const WORK: &str =
    "(requests?|reqs?|operations?|ops|transactions?|queries|iterations|messages|events|items|jobs|tasks|lookups)";
const SECOND: &str = "(s|secs?|seconds?)";
/// Longer outputs and lines are not searched: each number of a line is looked at with the line.
const MOST_OUTPUT: usize = 1 << 20;
const MOST_LINE: usize = 1 << 12;
/// Words before a label that make it one of something else, which is not to be higher.
const OTHERS: [&str; 20] = [
    "bit",
    "cancelled",
    "dropped",
    "error",
    "errors",
    "failed",
    "failure",
    "failures",
    "frame",
    "hit",
    "late",
    "loss",
    "lost",
    "miss",
    "missed",
    "pending",
    "rejected",
    "sample",
    "slow",
    "timeout",
];

/// A number of the output, with the text around it in its line.
struct Number<'a> {
    before: &'a str,
    text: &'a str,
    after: &'a str,
}

impl Proposal {
    /// Returns the pattern of the only number in the outputs that can be a rate; `None` if there is none, or several.
    /// Each output is of one run, and has the number once.
    pub fn of(outputs: &[&str]) -> Option<Self> {
        let first = outputs.first().filter(|output| output.len() <= MOST_OUTPUT)?;
        let digits = pattern(r"[0-9]+(\.[0-9]+)?");
        let lines = first.lines().filter(|line| line.len() <= MOST_LINE);
        let numbers: Vec<Number<'_>> = lines.flat_map(|line| numbers(line, &digits)).collect();
        for (name, around) in KINDS {
            let [after, before] = around.map(pattern);
            let of_kind = |number: &Number<'_>| {
                let is_of_rate = |found: &regex_lite::Match<'_>| !is_of_other(&number.before[..found.start()]);
                let around = [before.find(number.before).filter(is_of_rate), after.find(number.after)];
                let [label, unit] = around.map(|found| found.map_or("", |found| found.as_str()));
                // One of them is enough.
                let (label, unit) = if unit.is_empty() { (label, "") } else { ("", unit) };
                let metric = format!("{name}={}([0-9.]+){}", spaced(label), spaced(unit));
                let found = format!("{label}{}{unit}", number.text);
                (!label.is_empty() || !unit.is_empty()).then_some(Self { metric, found })
            };
            let mut found: Vec<Self> = numbers.iter().filter_map(of_kind).collect();
            if found.len() > 1 {
                return None;
            }
            // A quote would end the word of the shell that the pattern is printed in.
            if let Some(proposal) = found.pop().filter(|found| !found.metric.contains('\'')) {
                let pattern: Pattern = proposal.metric.parse().ok()?;
                return outputs.iter().all(|output| pattern.find(output).is_ok()).then_some(proposal);
            }
        }
        None
    }
}

/// Returns the numbers of a line that are not parts of names, times, ranges or longer numbers.
fn numbers<'a>(line: &'a str, digits: &Regex) -> Vec<Number<'a>> {
    let is_apart = |number: &Number<'_>| {
        let is_part = |letter: char| letter.is_alphanumeric() || "._,:-+".contains(letter);
        let is_joined = number.before.chars().next_back().is_some_and(|last| is_part(last) && last != ':');
        let goes_on = number.after.starts_with(|first: char| first.is_alphanumeric() || "_%".contains(first));
        let is_longer = number.after.starts_with(['.', ',', ':']) && number.after[1..].starts_with(char::is_numeric);
        !is_joined && !goes_on && !is_longer
    };
    let number = |found: regex_lite::Match<'a>| Number {
        before: &line[..found.start()],
        text: &line[found.range()],
        after: &line[found.end()..],
    };
    digits.find_iter(line).map(number).filter(is_apart).collect()
}

/// Returns whether the text before a label ends with a word such as `error`.
fn is_of_other(before: &str) -> bool {
    let word = before.trim_end().rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    OTHERS.contains(&&*word.to_lowercase())
}

/// Compiles one of the patterns above.
fn pattern(text: &str) -> Regex {
    Regex::new(&text.replace("WORK", WORK).replace("SECOND", SECOND)).expect("the pattern is constant")
}

/// Returns a pattern for a text that need not have as many spaces.
fn spaced(text: &str) -> String {
    let (mut pattern, mut rest) = (String::new(), text);
    while !rest.is_empty() {
        let (word, more) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        pattern.push_str(&escape(word));
        rest = more.trim_start();
        pattern.push_str(match (more.len() - rest.len(), rest.is_empty()) {
            (0, _) => "",
            (_, true) => " *",
            (1, _) => " ",
            _ => " +",
        });
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(output: &str) -> Option<(String, f64)> {
        let metric = Proposal::of(&[output])?.metric;
        let found = metric.parse::<Pattern>().unwrap().find(output).unwrap();
        Some((metric, found))
    }

    #[test]
    fn only_rate_in_the_output_is_proposed() {
        let cases = [
            ("served 9000 requests in 2.0 s (4500.5 req/s)\n", r"rate=([0-9.]+) req/s", 4500.5),
            ("Requests/sec:   6172.5\nTransfer/sec:      1.2MB\n", r"rate=Requests/sec: *([0-9.]+)", 6172.5),
            ("tps = 812.3 (without initial connection time)\n", r"rate=tps = *([0-9.]+)", 812.3),
            ("rate 99.25 per s\ntook 2.000 s\n", r"rate=([0-9.]+) per s", 99.25),
            ("throughput: 17\n", r"rate=throughput: *([0-9.]+)", 17.0),
            ("12:30:01 ready on port 8080\nhandled 512 requests\n", r"count=([0-9.]+) requests", 512.0),
        ];
        for (output, metric, value) in cases {
            assert_eq!(proposed(output), Some((metric.to_owned(), value)), "{output}");
        }
    }

    #[test]
    fn several_or_no_rates_are_not_proposed() {
        for output in [
            "",
            "listening on 127.0.0.1:8080\nversion 1.2.3\n",
            "reads 10.5 ops/s\nwrites 7.5 ops/s\n",
            "error rate: 0.02\n",
            "sample rate 44100\n",
            "failed requests: 3\n",
            "12,345 req/s\n",
            "took 2.0 s, 3.5 ms per request\n",
            "1.2e3 req/s\n",
        ] {
            assert_eq!(proposed(output), None, "{output}");
        }
        // Another run prints it twice, so the pattern would not be unique.
        assert_eq!(Proposal::of(&["5 req/s\n", "5 req/s\n5 req/s\n"]), None);
    }
}
