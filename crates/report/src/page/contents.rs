//! What there is on the page, as a list of links; on a wide screen it stays in sight.

use super::placed::PlacedRecord;
use maud::{Markup, html};

pub fn contents(records: &[PlacedRecord<'_>], is_compared: bool) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#findings" { "Findings" } }
                @if is_compared {
                    li { a href="#side-by-side" { "Side by side" } }
                }
                @for record in records {
                    li {
                        a href={ "#" (record.id) } { (if is_compared { &record.source.name } else { &record.source.experiment }) }
                        ul {
                            @for placed in &record.sections {
                                li { a href={ "#" (placed.id) } { (placed.section.title) } }
                            }
                        }
                    }
                }
                li { a href="#methods" { "Methods" } }
            }
        }
    }
}
