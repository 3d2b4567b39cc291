//! The series' names, as many as two lines have room for; the table has all.

use super::layout::{LEFT, RIGHT, TOP, colour};
use maud::{Markup, html};
use record::Series;

/// A letter is about so wide.
const LETTER: f64 = 7.2;
const LINE: f64 = 14.0;

pub fn legend(series: &[Series]) -> Markup {
    html! {
        @for (place, (one, (at, foot))) in series.iter().zip(places(series)).enumerate() {
            g class=(colour(place)) {
                rect.fill x=(format_args!("{at:.1}")) y=(foot - 9.0) width="10" height="10" {}
            }
            text x=(format_args!("{:.1}", at + 14.0)) y=(foot) { (one.name) }
        }
    }
}

/// Where the names begin, as far as there is room.
fn places(series: &[Series]) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    // In the first line the axis has its label.
    let (mut at, mut foot) = (LEFT + 150.0, 14.0);
    for one in series {
        let width = 26.0 + one.name.chars().count() as f64 * LETTER;
        if at + width > RIGHT && foot < TOP - LINE {
            (at, foot) = (LEFT, foot + LINE);
        }
        if at + width > RIGHT {
            break;
        }
        places.push((at, foot));
        at += width;
    }
    places
}
