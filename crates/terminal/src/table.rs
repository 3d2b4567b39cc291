//! Tables: a library draws them, and this module configures it. A cell is one line, whatever it contains.

use crate::escape::escaped;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Draws a table without frames: the first column left, all others right.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    aligned(header, rows, |column| column == 0)
}

/// Draws a table of words: all columns left.
pub fn table_of_words(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    aligned(header, rows, |_| true)
}

fn aligned(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, left: impl Fn(usize) -> bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    rows.into_iter().for_each(|row| {
        table.add_row(row.iter().map(|cell| escaped(cell)));
    });
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if left(place) { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((u16::from(place > 0), 0));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_never_ends_its_line_or_moves_a_column() {
        let row = |name: &str| vec![name.to_owned(), "1".to_owned()];
        let drawn = table(&["name", "n"], [row("a\x1b[2J\nb"), row("c")]);
        let ends: Vec<usize> = drawn.lines().map(|line| line.chars().count()).collect();
        assert!(drawn.contains("a\\u{1b}[2J\\u{a}b") && ends.len() == 3 && ends[1] == ends[2], "{drawn}");
    }
}
