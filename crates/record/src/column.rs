//! A column of a table, declared once: the terminal and the page draw from the same list.

use crate::section::Table;
use terminal::Page;

/// From this width on, a terminal has room for every column.
const WIDE: usize = 128;
/// Written on a page for a value that was not measured.
const UNKNOWN: &str = "–";

/// Returns the text of a cell; `None` where the value was not measured.
type Text<R> = fn(&R) -> Option<String>;
/// The heading of a column and the text of a row in it.
type Shown<R> = (&'static str, Text<R>);

/// A heading, and the text below it for each row.
///
/// The formats that lack the column have no heading for it.
pub struct Column<R> {
    terminal: Option<(&'static str, Text<R>)>,
    page: Option<(&'static str, Text<R>)>,
    is_wide: bool,
    is_left_out_if_unknown: bool,
}

impl<R> Column<R> {
    /// Creates a column that the terminal and the page share.
    pub const fn new(heading: &'static str, text: Text<R>) -> Self {
        Self { terminal: Some((heading, text)), page: Some((heading, text)), ..Self::hidden() }
    }

    /// Creates a column of the terminal only.
    pub const fn terminal(heading: &'static str, text: Text<R>) -> Self {
        Self { terminal: Some((heading, text)), ..Self::hidden() }
    }

    /// Creates a column of the page only.
    pub const fn page(heading: &'static str, text: Text<R>) -> Self {
        Self { page: Some((heading, text)), ..Self::hidden() }
    }

    /// Sets another text for the page, which has room for more, such as the interval.
    pub const fn with_page(self, heading: &'static str, text: Text<R>) -> Self {
        Self { page: Some((heading, text)), ..self }
    }

    /// Leaves the column out on a narrow terminal.
    pub const fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    /// Leaves the column out of tables in which no row has a value for it.
    pub const fn if_known(self) -> Self {
        Self { is_left_out_if_unknown: true, ..self }
    }

    const fn hidden() -> Self {
        Self { terminal: None, page: None, is_wide: false, is_left_out_if_unknown: false }
    }
}

/// Draws the table as text; a cell without a value is blank.
pub fn in_letters<'r, R: 'r>(columns: &[Column<R>], rows: impl IntoIterator<Item = &'r R>, page: &Page) -> String {
    let rows: Vec<&R> = rows.into_iter().collect();
    let fits = |column: &&Column<R>| page.width >= WIDE || !column.is_wide;
    let shown = shown(columns.iter().filter(fits), &rows, |column| column.terminal);
    let header: Vec<&str> = shown.iter().map(|(heading, _)| *heading).collect();
    let line = |row: &&R| shown.iter().map(|(_, text)| text(row).unwrap_or_default()).collect();
    terminal::table(&header, rows.iter().map(line))
}

/// Draws the table as [`in_letters`] does, with two spaces before each line.
pub fn indented<'r, R: 'r>(columns: &[Column<R>], rows: impl IntoIterator<Item = &'r R>, page: &Page) -> String {
    in_letters(columns, rows, page).lines().map(|line| format!("  {line}\n")).collect()
}

/// Returns the table for a page; a cell without a value has a dash.
pub fn on_page<'r, R: 'r>(
    caption: impl Into<String>,
    columns: &[Column<R>],
    rows: impl IntoIterator<Item = &'r R>,
) -> Table {
    let rows: Vec<&R> = rows.into_iter().collect();
    let shown = shown(columns.iter(), &rows, |column| column.page);
    let line = |row: &&R| shown.iter().map(|(_, text)| text(row).unwrap_or_else(|| UNKNOWN.to_owned())).collect();
    Table {
        caption: caption.into(),
        header: shown.iter().map(|(heading, _)| *heading).collect(),
        rows: rows.iter().map(line).collect(),
    }
}

/// Returns the headings and texts of those columns that the format has.
fn shown<'c, R: 'c>(
    columns: impl Iterator<Item = &'c Column<R>>,
    rows: &[&R],
    format: fn(&Column<R>) -> Option<Shown<R>>,
) -> Vec<Shown<R>> {
    let known = |text: Text<R>| rows.iter().any(|row| text(row).is_some());
    let head = |column: &Column<R>| {
        let (heading, text) = format(column)?;
        (!column.is_left_out_if_unknown || known(text)).then_some((heading, text))
    };
    columns.filter_map(head).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = Column<(&'static str, Option<f64>)>;

    const COLUMNS: [Pair; 5] = [
        Pair::new("name", |row| Some(row.0.to_owned())),
        Pair::terminal("brief", |row| Some(format!("{:.0}", row.1?)))
            .with_page("whole", |row| Some(format!("{}", row.1?))),
        Pair::new("twice", |row| Some(format!("{}", row.1? * 2.0))).wide(),
        Pair::page("unit", |_| Some("s".to_owned())),
        Pair::new("never", |_| None).if_known(),
    ];
    const ROWS: [(&str, Option<f64>); 2] = [("a", Some(1.25)), ("b", None)];

    #[test]
    fn each_format_has_its_columns_and_known_ones() {
        let narrow = in_letters(&COLUMNS, &ROWS, &Page::plain());
        assert_eq!(narrow, "name brief\na        1\nb\n");
        assert_eq!(indented(&COLUMNS, &ROWS, &Page::plain()), "  name brief\n  a        1\n  b\n");
        let wide = in_letters(&COLUMNS, &ROWS, &Page { width: WIDE, ..Page::plain() });
        assert_eq!(wide.lines().next(), Some("name brief twice"));
        let page = on_page("", &COLUMNS, &ROWS);
        assert_eq!(page.header, ["name", "whole", "twice", "unit"]);
        assert_eq!(page.rows, [["a", "1.25", "2.5", "s"], ["b", "–", "–", "s"]]);
    }
}
