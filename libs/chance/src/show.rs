//! Distributions as text.
use std::fmt::{self, Display, Formatter};

use crate::{Distribution, Weight};

/// A text table with outcome and probability in each row, to 15 significant digits, which every `f64` keeps.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution};
/// let coin = Distribution::exact(&|chance: &mut Chance| chance.odds(1, 3))?;
/// assert_eq!(coin.table().to_string(), "false  0.666666666666667\n true  0.333333333333333\n");
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug)]
pub struct Table<'a, T, W>(&'a Distribution<T, W>);

/// A text chart with a bar for each outcome, in eighths of a column; the bar of the likeliest outcome is 50 columns
/// wide.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution};
/// let two = Distribution::exact(&|chance: &mut Chance| chance.die(2) + chance.die(2))?;
/// assert_eq!(two.plot().width(4).to_string(), "2 ██    25.000%\n3 ████  50.000%\n4 ██    25.000%\n");
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug)]
pub struct Plot<'a, T, W> {
    distribution: &'a Distribution<T, W>,
    width: usize,
}

impl<T: Clone + Ord, W: Weight> Distribution<T, W> {
    /// Returns the distribution as a [`Table`] of text.
    pub fn table(&self) -> Table<'_, T, W> {
        Table::new(self)
    }

    /// Returns the distribution as a [`Plot`] of text.
    pub fn plot(&self) -> Plot<'_, T, W> {
        Plot::new(self)
    }
}

impl<'a, T, W> Table<'a, T, W> {
    pub(crate) fn new(distribution: &'a Distribution<T, W>) -> Self {
        Self(distribution)
    }
}

impl<'a, T, W> Plot<'a, T, W> {
    pub(crate) fn new(distribution: &'a Distribution<T, W>) -> Self {
        Self { distribution, width: 50 }
    }

    /// Sets the width of the longest bar, in columns.
    #[must_use]
    pub fn width(self, width: usize) -> Self {
        Self { width, ..self }
    }
}

impl<T: Clone + Ord + Display, W: Weight> Display for Table<'_, T, W> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (label, probability) in labelled(self.0) {
            writeln!(f, "{label}  {}", significant(probability, 15))?;
        }
        Ok(())
    }
}

impl<T: Clone + Ord + Display, W: Weight> Display for Plot<'_, T, W> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rows = labelled(self.distribution);
        let most = rows.iter().map(|row| row.1).fold(0.0, f64::max);
        for (label, probability) in rows {
            let bar = bar((probability / most * (self.width * 8) as f64).round() as usize);
            writeln!(f, "{label} {bar:<width$} {percent:7.3}%", width = self.width, percent = probability * 100.0)?;
        }
        Ok(())
    }
}

/// Returns the outcomes, right-aligned, with their probabilities.
fn labelled<T: Clone + Ord + Display, W: Weight>(distribution: &Distribution<T, W>) -> Vec<(String, f64)> {
    let rows: Vec<_> = distribution
        .weighted()
        .iter()
        .map(|(outcome, weight)| (outcome.to_string(), weight.share(distribution.kept())))
        .collect();
    let width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    rows.into_iter().map(|(label, p)| (format!("{label:>width$}"), p)).collect()
}

fn bar(eighths: usize) -> String {
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

/// Formats a number from 0 to 1 with this number of significant digits, without trailing zeros, and as a power of ten
/// if it is very small.
fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("scientific notation has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    if exponent < -5 {
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).to_string()
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}
