//! A figure: its picture, still and as data for the script, and the tables with its numbers.

use super::heading::{Level, heading};
use super::plot_data::plot_data;
use super::table::table;
use crate::draw;
use maud::{Markup, html};
use record::{Figure, Picture};

/// Longer tables are folded below their picture.
const LONG_TABLE: usize = 12;

pub fn figure(figure: &Figure, id: &str) -> Markup {
    html! {
        section.figure {
            (heading(Level::Figure, id, &figure.title))
            (picture(figure))
            @for one in &figure.tables {
                @if one.rows.len() > LONG_TABLE && !matches!(figure.picture, Picture::None) {
                    details {
                        summary { (one.caption) }
                        (table(one))
                    }
                } @else {
                    (table(one))
                }
            }
        }
    }
}

fn picture(figure: &Figure) -> Markup {
    let name = format!("{}; its numbers are in the table below", figure.title);
    html! {
        @match &figure.picture {
            Picture::Plot(plot) => {
                figure.plot {
                    div.static { (draw::plot(plot, &name)) }
                    script type="application/json" { (plot_data(plot)) }
                }
            }
            Picture::Bars(bars) => {
                figure.bars {
                    div.static { (draw::bars(bars, &name)) }
                }
            }
            Picture::None => {}
        }
    }
}
