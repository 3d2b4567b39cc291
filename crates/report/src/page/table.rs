//! A table with numbers, which scrolls by itself where the page is narrow.

use maud::{Markup, html};
use record::Table;

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
                                    td { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
