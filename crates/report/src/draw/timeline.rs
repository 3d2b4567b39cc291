//! Spans of time, a line for each thing that had some.

use super::scale::Scale;
use super::svg;
use maud::{Markup, html};
use record::{Span, Timeline, Unit};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 628.0;
const ROW: f64 = 20.0;
const COLOURS: usize = 8;

/// Draws the picture with this name for screen readers.
pub fn timeline(timeline: &Timeline, name: &str) -> Markup {
    let spans = || timeline.lanes.iter().flat_map(|lane| &lane.spans);
    let scale = Scale::over(spans().flat_map(|span| [span.from_ns, span.to_ns]), false, LEFT, RIGHT);
    let foot = timeline.lanes.len() as f64 * ROW + 4.0;
    let content = html! {
        @for value in scale.marks() {
            @let at = format!("{:.1}", scale.place(value));
            path.grid d=(format_args!("M{at} 0V{foot}")) {}
            text x=(at) y=(foot + 15.0) text-anchor="middle" { (Unit::Ns.words(value)) }
        }
        text x=(f64::midpoint(LEFT, RIGHT)) y=(foot + 31.0) text-anchor="middle" { "time" }
        @for (place, lane) in timeline.lanes.iter().enumerate() {
            @let top = place as f64 * ROW + 2.0;
            text x=(LEFT - 6.0) y=(top + 14.0) text-anchor="end" { (lane.name) }
            @for span in &lane.spans { (one(span, top, &scale)) }
        }
    };
    svg(WIDTH, foot + 38.0, name, &content)
}

fn one(span: &Span, top: f64, scale: &Scale) -> Markup {
    let (from, to) = (scale.place(span.from_ns), scale.place(span.to_ns));
    html! {
        g class=(format_args!("c{}", span.group % COLOURS)) {
            rect.fill x=(format_args!("{from:.1}")) y=(top) width=(format_args!("{:.1}", (to - from).max(1.0))) height="16" {
                title { (span.name) ": " (Unit::Ns.words(span.to_ns - span.from_ns)) }
            }
        }
    }
}
