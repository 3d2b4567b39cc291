//! A figure: its picture, still and as data for the script, and the tables with its numbers.

use super::heading::{Level, heading};
use super::plot_data::plot_data;
use super::table::table;
use crate::draw;
use crate::hues::Hues;
use crate::looks::{self, Look};
use maud::{Markup, html};
use record::{Figure, Picture, Plot, Table};

/// Longer tables are folded below their picture.
const LONG_TABLE: usize = 12;

pub fn figure(figure: &Figure, id: &str, level: Level, hues: &Hues) -> Markup {
    html! {
        section.figure {
            (heading(level, id, &figure.title))
            (picture(figure, hues))
            @for one in &figure.tables {
                @if is_folded(figure, one) {
                    details {
                        summary { (one.caption) }
                        (table(one, &figure.title))
                    }
                } @else {
                    (table(one, &figure.title))
                }
            }
        }
    }
}

/// What says the same as its picture, at length.
fn is_folded(figure: &Figure, table: &Table) -> bool {
    match figure.picture {
        Picture::None => false,
        // The picture says it in words already.
        Picture::Ladder(_) | Picture::Spikes(_) | Picture::Stacks(_) => true,
        _ => table.rows.len() > LONG_TABLE,
    }
}

fn picture(figure: &Figure, hues: &Hues) -> Markup {
    let name = format!("{}; the table below contains the values", figure.title);
    html! {
        @match &figure.picture {
            Picture::Plot(one) => (plot(one, &looks::in_turn(one), false, &name)),
            Picture::Locks(one) => (plot(one, &looks::of_locks(one, hues), false, &name)),
            Picture::Causes(one) => (plot(one, &looks::of_causes(one, hues), false, &name)),
            Picture::Spikes(one) => (plot(&one.plot, &looks::of_spikes(one, hues), true, &name)),
            Picture::Bars(bars) => {
                figure.bars {
                    @for one in draw::multiples(bars, &name, hues) {
                        div.static tabindex="0" { (one) }
                    }
                }
            }
            Picture::Stacks(stacks) => figure.stacks { div.static tabindex="0" { (draw::stacks(stacks, &name, hues)) } },
            Picture::Ladder(ladder) => {
                figure.ladder {
                    div.wide { (draw::wide_ladder(ladder, &name, hues)) }
                    div.narrow { (draw::narrow_ladder(ladder, &name, hues)) }
                }
            }
            Picture::Flame(flame) => figure.stacks { div.static tabindex="0" { (draw::flame(flame, &name)) } },
            Picture::Timeline(timeline) => {
                figure.stacks { div.static tabindex="0" { (draw::timeline(timeline, &name)) } }
            }
            Picture::Map(map) => figure.stacks { div.static tabindex="0" { (draw::map(map, &name)) } },
            Picture::None => {}
        }
    }
}

fn plot(plot: &Plot, looks: &[Look], has_spikes: bool, name: &str) -> Markup {
    html! {
        figure.plot.spikes[has_spikes] {
            div.static tabindex="0" { (draw::plot(plot, looks, has_spikes, name)) }
            script type="application/json" { (plot_data(plot, looks)) }
        }
    }
}
