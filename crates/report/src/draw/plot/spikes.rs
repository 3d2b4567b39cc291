//! What the spikes of a histogram are, in the picture: letter, share and cause, a line each, where columns are rare.

use super::layout::{RIGHT, TOP};
use crate::looks::Look;
use maud::{Markup, html};

/// More have no room; the table has all.
const MOST: usize = 6;
const LINE: f64 = 15.0;
const ROOM: usize = 44;

pub fn names(looks: &[Look]) -> Markup {
    html! {
        @for (place, look) in looks.iter().take(MOST).enumerate() {
            text.spike x=(RIGHT - 4.0) y=(TOP + 10.0 + LINE * place as f64) text-anchor="end" { (shortened(&look.words)) }
        }
    }
}

fn shortened(words: &str) -> String {
    if words.chars().count() <= ROOM {
        return words.to_owned();
    }
    words.chars().take(ROOM - 1).chain(['…']).collect()
}
