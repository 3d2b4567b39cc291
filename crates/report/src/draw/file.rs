//! A picture as a file of its own: it has its colours with it, for light and for dark.

use super::{bars, flame, ladder, map, plot, stacks, timeline};
use crate::hues::Hues;
use crate::looks;
use maud::{Markup, PreEscaped, html};
use record::{Figure, Ladder, Picture, Section};
use terminal::escaped_lines;

const STYLE: &str = include_str!("../../assets/report/picture.css");

/// The ladder of this machine.
pub fn ladder_file(ladder: &Ladder, machine: &str) -> String {
    let hues = Hues::of(std::iter::empty(), ladder.costs.iter().filter_map(|cost| cost.lock.as_deref()));
    file(&ladder::wide(ladder, "Costs of waiting", &hues), &format!("Costs of waiting: {machine}"))
}

/// A figure of these sections; `None` for one that has no picture.
pub fn picture_file(figure: &Figure, sections: &[Section]) -> Option<String> {
    let hues = Hues::of(sections.iter(), std::iter::empty());
    let name = figure.title.as_str();
    let picture = match &figure.picture {
        Picture::Plot(one) => plot::plot(one, &looks::in_turn(one), false, name),
        Picture::Locks(one) => plot::plot(one, &looks::of_locks(one, &hues), false, name),
        Picture::Causes(one) => plot::plot(one, &looks::of_causes(one, &hues), false, name),
        Picture::Spikes(one) => plot::plot(&one.plot, &looks::of_spikes(one, &hues), true, name),
        Picture::Bars(all) => bars::column(all, name, &hues),
        Picture::Stacks(all) => stacks::stacks(all, name, &hues),
        Picture::Ladder(all) => ladder::wide(all, name, &hues),
        Picture::Flame(one) => flame::flame(one, name),
        Picture::Timeline(one) => timeline::timeline(one, name),
        Picture::Map(one) => map::map(one, name),
        Picture::None => return None,
    };
    Some(file(&picture, name))
}

/// The style stands in the picture itself.
fn file(picture: &Markup, title: &str) -> String {
    let picture = &picture.0;
    let (begin, rest) = picture.split_at(picture.find('>').map_or(0, |end| end + 1));
    let inside = html! { title { (title) } style { (PreEscaped(STYLE)) } rect.paper width="100%" height="100%" {} };
    let whole = format!("{begin}{}{rest}\n", inside.0);
    escaped_lines(&whole).into_owned()
}
