//! The comparison of a program's output with a page, by its shape: the same lines once numbers are folded, in any
//! order.
//!
//! A number is folded to its kind, so that another digit, another power of ten of a second or another interval is the
//! same line. Another unit, word, column or heading is not. Charts as text are one line each. The order is ignored,
//! since that of rankings depends on the values. `…` on a line of the page matches any lines.

use super::blocks::Block;
use super::session::Step;
use regex::Regex;
use std::sync::LazyLock;

#[derive(Clone, Debug, PartialEq)]
enum Word {
    Figure(Kind),
    /// `–`, `?` or `not seen`: a value that could not be measured, in the place of any number, and of those that follow
    /// from it.
    Missing,
    Said(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Time,
    Share,
    Ratio,
    /// A rate per second.
    Rate,
    Number,
}

/// Lines that only some runs have, whatever the page.
const BY_CHANCE: [&str; 3] = [
    // The share outside spikes, the cause of a spike, and the uncertainty of a value.
    r"^\s*\(#\)",
    r"^\s*\([A-Z]\) .*: [0-9.]+ % of its",
    r" iterations; 95 % CI: ",
];

/// A line of a chart as text.
static PICTURE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*[0-9,.]*\s?[|+]"));

/// Endings of a line that only some runs have: a spike that is an echo, and the verdicts.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"( echo of \(.*| (no difference shown|less than least|undecided|better|worse|CPUs busy))\s*$")
});

/// An interval in parentheses, and the text that a run that is too short for one prints instead.
static INTERVAL: LazyLock<Regex> = LazyLock::new(|| {
    let end = "[0-9][0-9.,]*(?: ?[%×a-zA-Zµ/]+)?";
    regex(&format!(
        r"\((?:95 % CI )?[−-]?{end}(?:–| to )[−-]?(?:{end}|∞)\)|\(too few repetitions for a confidence interval; \d+ are needed\)"
    ))
});
static BARE_INTERVAL: LazyLock<Regex> = LazyLock::new(|| regex(r" [0-9][0-9.]*–[0-9][0-9.]*( |$)"));
static RANGE: LazyLock<Regex> = LazyLock::new(|| regex(r"(\S)–(\S)"));

/// The number of letters of a record's name, which are all digits in one of a hundred names.
const HASH: usize = 10;

fn regex(expression: &str) -> Regex {
    Regex::new(expression).unwrap()
}

/// Returns the differences between a command's output and its page; none if the page shows nothing.
pub fn differences(block: &Block, step: &Step) -> Vec<String> {
    if step.shown.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let expressions = BY_CHANCE.iter().copied().chain(block.notes.by_chance.iter().map(String::as_str));
    let by_chance: Vec<Regex> = expressions.map(regex).collect();
    let lines = |text: &mut dyn Iterator<Item = &str>| -> Vec<(String, Vec<Word>)> {
        let certain = text.filter(|line| !by_chance.iter().any(|chance| chance.is_match(line)));
        certain.map(|line| (line.to_owned(), folded(line))).filter(|(_, words)| !words.is_empty()).collect()
    };
    let shown = lines(&mut step.shown.iter().map(String::as_str).filter(|line| line.trim() != "…"));
    let printed = lines(&mut step.printed.lines());
    if shown.is_empty() && step.shown.iter().any(|line| line.trim() != "…") {
        return vec!["every line shown is called chance: nothing is compared".to_owned()];
    }
    let all = !block.notes.others && !step.shown.iter().any(|line| line.trim() == "…");
    let alone = |of: &[(String, Vec<Word>)], among: &[(String, Vec<Word>)], what: &str| -> Vec<String> {
        let none_like = |(_, words): &&(String, Vec<Word>)| !among.iter().any(|(_, others)| are_alike(words, others));
        of.iter().filter(none_like).map(|(line, words)| format!("{what}: {line}\n      as {words:?}")).collect()
    };
    let mut differences = alone(&shown, &printed, "shown and not printed");
    if all {
        differences.extend(alone(&printed, &shown, "printed and not shown"));
    }
    differences
}

fn are_alike(one: &[Word], other: &[Word]) -> bool {
    let alike = |(one, other): (&Word, &Word)| match (one, other) {
        (Word::Missing, Word::Figure(_)) | (Word::Figure(_), Word::Missing) => true,
        (one, other) => one == other,
    };
    let rest_is_missing = |one: &[Word], other: &[Word]| {
        one.last() == Some(&Word::Missing)
            && other.len() > one.len()
            && other[one.len()..].iter().all(|word| matches!(word, Word::Figure(_) | Word::Missing))
    };
    let as_long = one.len() == other.len() || rest_is_missing(one, other) || rest_is_missing(other, one);
    as_long && one.iter().zip(other).all(alike)
}

/// Returns the words of a line; none of one that is a chart, or empty.
fn folded(line: &str) -> Vec<Word> {
    if PICTURE.is_match(line) {
        return vec![Word::Said("a picture".to_owned())];
    }
    // The years of a ladder's marks depend on where the marks fall.
    let line = if line.contains('●') { line.split(['·', '●', '○']).next().unwrap() } else { line };
    let line = ENDS.replace(line, "").replace("< ", "").replace("not seen", "–");
    let line =
        RANGE.replace_all(&BARE_INTERVAL.replace_all(&INTERVAL.replace_all(&line, ""), " "), "$1 to $2").into_owned();
    let mut words: Vec<Word> = Vec::new();
    for token in line.split_whitespace() {
        let bare = token.trim_matches(['(', ')', ',', ';', ':', '.', '<', '>', '~', '[', ']', '*']);
        // A number of that many digits has commas.
        if bare.len() == HASH && bare.bytes().all(|byte| byte.is_ascii_digit()) {
            words.extend(word(bare));
            continue;
        }
        match (unit(bare), words.last_mut()) {
            _ if ["–", "?"].contains(&bare) => words.push(Word::Missing),
            (Some(kind), Some(Word::Figure(before))) if *before == Kind::Number => *before = kind,
            // The number that a missing value would have had.
            (Some(_), Some(Word::Missing)) => {}
            _ => words.extend(figure(bare).map(Word::Figure).or_else(|| word(bare))),
        }
    }
    // The numbers of an axis, or its only one: there is no blank before its unit, as there is in a text.
    let is_axis = words.len() > 1 || words == [Word::Figure(Kind::Time)] && !line.trim().contains(' ');
    let are_figures = is_axis && words.iter().all(|word| matches!(word, Word::Figure(_)));
    if are_figures { vec![Word::Said("an axis".to_owned())] } else { words }
}

fn unit(token: &str) -> Option<Kind> {
    match token {
        "ns" | "µs" | "ms" | "s" | "min" => Some(Kind::Time),
        "%" => Some(Kind::Share),
        "×" => Some(Kind::Ratio),
        _ => None,
    }
}

/// Returns the kind of a number, with a unit behind it or without; a date and a time of day are numbers.
fn figure(token: &str) -> Option<Kind> {
    let number = token.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let is_number = number.starts_with(|first: char| first.is_ascii_digit() || "+-−.".contains(first))
        && number.chars().all(|letter| letter.is_ascii_digit() || ".,:/-+−".contains(letter))
        && number.contains(|letter: char| letter.is_ascii_digit());
    let rest = &token[number.len()..];
    match (is_number, rest) {
        (false, _) => None,
        (true, "") => Some(Kind::Number),
        (true, "/s") => Some(Kind::Rate),
        (true, unit_of_it) => unit(unit_of_it),
    }
}

/// Returns a word; hashes, files of the session and the letter of a spike are folded, and lines of a chart are dropped.
fn word(token: &str) -> Option<Word> {
    let is_hash = token.len() >= 7
        && token.chars().all(|letter| letter.is_ascii_hexdigit())
        && token.contains(|letter: char| letter.is_ascii_digit());
    let draws = token.chars().all(|letter| !letter.is_alphanumeric());
    let is_letter = token.len() == 1 && token.starts_with(|letter: char| letter.is_ascii_uppercase());
    let folded = match token {
        _ if draws => return None,
        _ if is_hash || token.starts_with("0x") => "a hash",
        _ if token.starts_with(['/', '~']) => "a path",
        _ if is_letter => "a letter",
        word => word,
    };
    Some(Word::Said(folded.to_owned()))
}
