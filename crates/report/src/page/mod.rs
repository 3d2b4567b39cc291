//! The page: findings first, then what differs, then each record with its pictures and warnings, then the methods.

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

pub use frame::SIGNATURE;

pub use methods::Method;

use crate::names::Names;
use maud::html;
use placed::PlacedRecord;
use record::{Figure, Section, Source};

/// The whole page. The same records give the same page.
///
/// `method` has the page of each experiment, in Markdown.
pub fn page(sources: &[Source], sections: &[Vec<Section>], compared: &[Figure], method: Method<'_>) -> String {
    let mut names = Names::default();
    for fixed in ["findings", "side-by-side", "methods"] {
        names.take(fixed);
    }
    let placed = sources.iter().zip(sections).map(|(source, sections)| PlacedRecord::new(source, sections, &mut names));
    let records: Vec<PlacedRecord<'_>> = placed.collect();
    let content = html! {
        (findings::findings(&records))
        @if sources.len() > 1 {
            (side_by_side::side_by_side(sources, sections, compared, &mut names))
        }
        @for (place, record) in records.iter().enumerate() {
            (one_record::one_record(record, place, method, &mut names))
        }
        (methods::methods(sections, method))
    };
    without_control_characters(&frame::frame(&title(sources), &content).into_string())
}

fn title(sources: &[Source]) -> String {
    match sources {
        [only] => format!("contend {}", only.experiment),
        several => format!("contend: {} records side by side", several.len()),
    }
}

/// HTML has no place for them, and a record may have any. The whole page passes here, so that no text is forgotten.
fn without_control_characters(page: &str) -> String {
    page.replace(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t'), "\u{fffd}")
}
