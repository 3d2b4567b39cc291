//! The page: the ladder and what was found first, then what differs, then each record with its pictures, then the
//! methods.

mod contents;
mod figure;
mod findings;
mod frame;
mod heading;
mod methods;
mod one_record;
mod placed;
mod plot_data;
mod setting;
mod side_by_side;
mod table;
mod warnings;

pub use frame::SIGNATURE;

pub use methods::Method;

use crate::hues::Hues;
use crate::machine::machine;
use crate::names::Names;
use maud::{Markup, html};
use placed::PlacedRecord;
use record::{Figure, Ladder, Section, Source};
use terminal::{escaped_lines, moment};

/// Records, and what of them is shown.
pub struct Content<'a> {
    pub sources: &'a [Source],
    /// Of each record, in the order of its parts.
    pub sections: &'a [Vec<Section>],
    /// Of each record that has one.
    pub ladders: &'a [Option<Ladder>],
    /// What the records have in common.
    pub compared: &'a [Figure],
    /// The page of each experiment, in Markdown.
    pub method: Method<'a>,
}

/// The whole page. The same records give the same page.
pub fn page(content: &Content<'_>) -> String {
    let Content { sources, sections, ladders, compared, method } = *content;
    let mut names = Names::default();
    for fixed in ["findings", "side-by-side", "methods", "contents"] {
        names.take(fixed);
    }
    let locks = ladders.iter().flatten().flat_map(|ladder| &ladder.costs).filter_map(|cost| cost.lock.as_deref());
    let hues = Hues::of(sections.iter().flatten(), locks);
    let pairs = sources.iter().zip(sections).enumerate();
    let placed = pairs.map(|(place, (source, sections))| PlacedRecord::new(place, source, sections, &mut names));
    let records: Vec<PlacedRecord<'_>> = placed.collect();
    let content = html! {
        (findings::findings(&records, ladders, &hues, &mut names))
        (contents::contents(&records, sources.len() > 1))
        @if sources.len() > 1 {
            (side_by_side::side_by_side(sources, sections, compared, &hues, &mut names))
        }
        @for record in &records {
            (one_record::one_record(record, method, &hues, &mut names))
        }
        (methods::methods(sections, method))
    };
    // The whole page passes here, so that no text is forgotten: HTML has no place for control characters, and others
    // reverse the words that follow. A record may have any of them.
    escaped_lines(&frame::frame(&title(sources), &machines(sources), &content).into_string()).into_owned()
}

/// Where and when it was measured, and how.
fn machines(sources: &[Source]) -> Markup {
    let [only] = sources else { return html! {} };
    let began = only.environment.get("started_unix_s").and_then(serde_json::Value::as_u64);
    html! {
        p.machine {
            (machine(&only.environment))
            @if let Some(began) = began { "; " (moment(began)) " UTC" }
        }
    }
}

fn title(sources: &[Source]) -> String {
    match sources {
        [only] if only.experiment == "survey" => "Costs of waiting".to_owned(),
        [only] => format!("contend {}", only.experiment),
        several => format!("contend: comparison of {} records", several.len()),
    }
}
