//! A table with numbers, which scrolls by itself where the page is narrow.

use maud::{Markup, html};
use record::Table;

pub fn table(table: &Table) -> Markup {
    html! {
        div.table tabindex="0" role="region" aria-label=(table.caption) {
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
