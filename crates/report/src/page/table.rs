//! A table with numbers, which scrolls by itself where the page is narrow.

use maud::{Markup, html};
use record::Table;

/// What is longer is words, and may take several lines; a figure and its unit stay on one, its interval too.
const LONGEST_FIGURE: usize = 38;

fn is_words(cell: &str) -> bool {
    cell.chars().count() > LONGEST_FIGURE
}

/// `of` is what it belongs to.
pub fn table(table: &Table, of: &str) -> Markup {
    html! {
        div.table tabindex="0" role="group" aria-label={ (of) ": " (table.caption) } {
            table {
                caption { (table.caption) }
                thead {
                    tr {
                        @for name in &table.header {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 {
                                    th scope="row" { (cell) }
                                } @else {
                                    td class=(if is_words(cell) { "words" } else { "short" }) { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
