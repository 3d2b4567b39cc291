//! What differs between the records of a page.

use super::figure::figure;
use super::heading::{Level, heading};
use super::table::table;
use crate::columns::header;
use crate::hues::Hues;
use crate::names::Names;
use crate::overlay;
use maud::{Markup, html};
use record::{Figure, Section, Source, Table, environments};

pub fn side_by_side(
    sources: &[Source],
    sections: &[Vec<Section>],
    compared: &[Figure],
    hues: &Hues,
    names: &mut Names,
) -> Markup {
    let overlays = overlay::figures(sections, &header(&[], sources.len(), &[]));
    html! {
        section {
            (heading(Level::Chapter, "side-by-side", "Side by side"))
            ol {
                @for source in sources {
                    li { (source.name) ": " (source.experiment) }
                }
            }
            (machines(sources))
            @if compared.is_empty() {
                p { "No configuration was measured in two of these records, so there is nothing to compare." }
            }
            @for one in compared.iter().chain(&overlays) {
                (figure(one, &names.take(&format!("compared {}", one.title)), Level::Section, hues))
            }
        }
    }
}

fn machines(sources: &[Source]) -> Markup {
    let differences = environments(&sources.iter().collect::<Vec<&Source>>());
    if differences.is_empty() {
        return html! { p { "The environments do not differ." } };
    }
    table(
        &Table {
            caption: "Differences between the environments".into(),
            header: header(&["environment"], sources.len(), &[]),
            rows: differences.into_iter().map(|found| [vec![found.name], found.values].concat()).collect(),
        },
        "Records",
    )
}
