//! Who blocks whom: a line for each place that waited, a column for each place whose holds it waited for in the end.

use super::matrix::Matrix;
use super::record::Row;
use terminal::nanoseconds;

/// The matrix and what its letters stand for; nothing where nobody waited for anybody.
pub fn matrix(rows: &[Row]) -> String {
    let matrix = Matrix::of(rows);
    if matrix.causes.is_empty() {
        return String::new();
    }
    let letters: Vec<String> =
        (b'A'..=b'Z').take(matrix.causes.len()).map(|byte| char::from(byte).to_string()).collect();
    let header: Vec<&str> =
        ["waiting at"].into_iter().chain(letters.iter().map(String::as_str)).chain(["total"]).collect();
    let time = |seconds: f64| if seconds > 0.0 { nanoseconds(seconds * 1e9) } else { "·".to_owned() };
    let line = |(name, cells, all): &(String, Vec<f64>, f64)| {
        let cells = cells.iter().map(|cell| time(*cell));
        std::iter::once(name.clone()).chain(cells).chain([time(*all)]).collect()
    };
    let named = letters.iter().zip(&matrix.causes).map(|(letter, cause)| format!("  {letter}: {cause}\n"));
    format!(
        "\nWait time by waiting call site and root holder\n{}{}",
        terminal::table(&header, matrix.lines.iter().map(line)),
        named.collect::<String>()
    )
}
