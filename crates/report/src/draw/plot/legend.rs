//! The series' names, as many as two lines have room for; the table has all.

use super::layout::{LEFT, RIGHT, TOP};
use crate::hues::class;
use crate::looks::Look;
use maud::{Markup, html};

/// A letter is about so wide.
const LETTER: f64 = 7.2;
const LINE: f64 = 14.0;

pub fn legend(looks: &[Look]) -> Markup {
    html! {
        @for (look, (at, foot)) in looks.iter().zip(places(looks)) {
            g class=(class(look.colour)) {
                rect.fill x=(format_args!("{at:.1}")) y=(foot - 9.0) width="10" height="10" {}
            }
            text x=(format_args!("{:.1}", at + 14.0)) y=(foot) { (look.words) }
        }
    }
}

/// Where the names begin, as far as there is room.
fn places(looks: &[Look]) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    // In the first line the axis has its label.
    let (mut at, mut foot) = (LEFT + 150.0, 14.0);
    for look in looks {
        let width = 26.0 + look.words.chars().count() as f64 * LETTER;
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
