//! Both axes with their marks and labels.

use super::layout::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP};
use crate::draw::scale::Scale;
use maud::{Markup, html};
use record::Plot;

pub fn axes(plot: &Plot, x: &Scale, y: &Scale) -> Markup {
    html! {
        path.axis d=(format_args!("M{LEFT} {TOP}V{BOTTOM}H{RIGHT}")) {}
        @for value in x.marks() {
            @let at = format!("{:.1}", x.place(value));
            path.grid d=(format_args!("M{at} {TOP}V{BOTTOM}")) {}
            text x=(at) y=(BOTTOM + 17.0) text-anchor="middle" { (plot.x.unit.words(value)) }
        }
        @for value in y.marks() {
            @let at = y.place(value);
            path.grid d=(format_args!("M{LEFT} {at:.1}H{RIGHT}")) {}
            text x=(LEFT - 6.0) y=(format_args!("{:.1}", at + 4.0)) text-anchor="end" { (plot.y.unit.words(value)) }
        }
        text x=(f64::midpoint(LEFT, RIGHT)) y=(HEIGHT - 8.0) text-anchor="middle" { (plot.x.label) }
        text x="4" y="14" { (plot.y.label) }
    }
}
