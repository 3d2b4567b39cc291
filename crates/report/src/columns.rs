//! Columns for records that stand side by side.

/// What the columns of the records are called.
const LETTERS: [&str; 12] = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th", "11th", "12th"];

/// The header of a table with a column for each record.
pub fn header(before: &[&'static str], records: usize, after: &[&'static str]) -> Vec<&'static str> {
    let letters = (0..records).map(|place| LETTERS.get(place).copied().unwrap_or("later"));
    before.iter().copied().chain(letters).chain(after.iter().copied()).collect()
}
