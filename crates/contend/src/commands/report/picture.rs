//! A single picture of a record, for a slide or a README.

use harness::UsageError;
use record::{Figure, Picture, Section};

/// The maximum number of titles in a message.
const SAID: usize = 12;

/// Returns the picture with this title, or the only one whose title contains it, as SVG.
///
/// # Errors
/// None matches, or several do.
pub fn of(sections: &[Section], wanted: &str) -> Result<String, UsageError> {
    let figures = sections.iter().flat_map(|section| &section.figures);
    let drawn: Vec<&Figure> = figures.filter(|figure| !matches!(figure.picture, Picture::None)).collect();
    let has = |figure: &&&Figure| figure.title.to_lowercase().contains(&wanted.to_lowercase());
    let found = drawn.iter().find(|figure| figure.title == wanted);
    let close: Vec<&&Figure> = found.map_or_else(|| drawn.iter().filter(has).collect(), |figure| vec![figure]);
    match close[..] {
        [figure] => report::picture_file(figure, sections).ok_or_else(|| none(wanted, &drawn)),
        [] => Err(none(wanted, &drawn)),
        _ => Err(UsageError(format!("--picture {wanted}: several charts match: {}", titles(close.into_iter())))),
    }
}

fn none(wanted: &str, drawn: &[&Figure]) -> UsageError {
    UsageError(format!("--picture {wanted}: no such chart; the record has {}", titles(drawn.iter())))
}

fn titles<'a>(figures: impl ExactSizeIterator<Item = &'a &'a Figure>) -> String {
    let more = figures.len().saturating_sub(SAID);
    let more = (more > 0).then(|| format!("{more} more"));
    figures.take(SAID).map(|figure| format!("\"{}\"", figure.title)).chain(more).collect::<Vec<String>>().join(", ")
}
