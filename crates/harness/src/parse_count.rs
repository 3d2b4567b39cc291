//! Counts on the command line, as people write them: `1000`, `1_000`, `10k`, `1M`, `1e9`.

use std::ops::RangeInclusive;

const PREFIXES: [(char, f64); 4] = [('k', 1e3), ('m', 1e6), ('g', 1e9), ('t', 1e12)];

/// Parses a whole number from 0 on, with or without a prefix.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || "not a count; write it like 1000, 1_000, 10k, 1M or 1e9".to_owned();
    let text = text.trim();
    let prefix = text.chars().last().and_then(|last| {
        PREFIXES.into_iter().find(|(letter, _)| *letter == last.to_ascii_lowercase()).map(|(_, factor)| factor)
    });
    let digits = if prefix.is_some() { &text[..text.len() - 1] } else { text };
    let digits = ungrouped(digits.trim()).ok_or_else(wrong)?;
    // Every digit of a plain number counts, as in a seed; a float has only 53 bits.
    if let (None, Ok(number)) = (prefix, digits.parse::<u64>()) {
        return Ok(number);
    }
    let number = digits.parse::<f64>().map_err(|_| wrong())? * prefix.unwrap_or(1.0);
    match number {
        number if number.is_nan() => Err(wrong()),
        number if number < 0.0 => Err("must not be negative".into()),
        number if number >= u64::MAX as f64 => Err(format!("too large; allowed: at most {}", u64::MAX)),
        number if (number - number.round()).abs() > 1e-6 => Err("must be a whole number".into()),
        number => Ok(number.round() as u64),
    }
}

/// Returns a parser of a number between two ends, for clap's `value_parser`.
pub fn within<T>(ends: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = count(text)?;
        let fits = ends.contains(&number).then(|| T::try_from(number).ok()).flatten();
        fits.ok_or_else(|| format!("must be from {} to {}", ends.start(), ends.end()))
    }
}

/// Removes the underscores between digits; `None` where one is elsewhere.
pub fn ungrouped(digits: &str) -> Option<String> {
    let is_digit = |piece: &str, at_end: bool| {
        let letter = if at_end { piece.chars().last() } else { piece.chars().next() };
        letter.is_some_and(|letter| letter.is_ascii_digit())
    };
    let pieces: Vec<&str> = digits.split('_').collect();
    let between = pieces.windows(2).all(|pair| is_digit(pair[0], true) && is_digit(pair[1], false));
    between.then(|| pieces.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_with_prefixes_and_underscores_are_parsed() {
        for (text, number) in
            [("1000", 1_000), ("1_000", 1_000), ("10k", 10_000), ("1.5M", 1_500_000), ("1e9", 1_000_000_000), ("0", 0)]
        {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        assert_eq!(count(&u64::MAX.to_string()), Ok(u64::MAX));
        assert_eq!(count(&(u64::MAX - 1).to_string()), Ok(u64::MAX - 1));
    }

    #[test]
    fn invalid_count_is_reported() {
        for (text, word) in [
            ("", "count"),
            ("k", "count"),
            ("many", "count"),
            ("nan", "count"),
            ("_1", "count"),
            ("1__0", "count"),
            ("1_", "count"),
            ("-1", "negative"),
            ("1.5", "whole"),
            ("inf", "large"),
            ("1e30", "large"),
        ] {
            assert!(count(text).unwrap_err().contains(word), "{text}: {:?}", count(text));
        }
        assert_eq!(within::<u32>(1..=1_000)("1e18").unwrap_err(), "must be from 1 to 1000");
    }
}
