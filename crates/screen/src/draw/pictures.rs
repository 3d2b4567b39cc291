//! A cell as a picture: a histogram that grows, a meter that scrolls, values as lines, columns of the last 2^n seconds.

use super::Colours;
use crate::feed::{Feed, Place, Seen};
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::symbols::Marker;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span, Text};
use ratatui_widgets::barchart::{Bar, BarChart, BarGroup};
use ratatui_widgets::block::Block;
use ratatui_widgets::chart::{Axis, Chart, Dataset, GraphType};
use ratatui_widgets::sparkline::{RenderDirection, Sparkline};
use std::collections::VecDeque;
use terminal::{Bar as Hits, Histogram, Page, percent, span_label};

/// The kind of picture that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// The picture that suits the kind of each cell.
    Own,
    /// Levels as columns of the last 1, 2, 4 … seconds.
    Columns,
}

/// The least height of a strip that is readable.
const LOWEST_STRIP: u16 = 4;

/// Draws the cell with this index, and as many others of its kind as fit.
pub fn draw(frame: &mut Frame, area: Rect, feed: &Feed, at: usize, kind: Picture, colours: Colours) {
    let places: Vec<&Place> = feed.places().collect();
    let Some(place) = places.get(at).or(places.first()) else {
        return frame.render_widget(Line::from(waiting(feed)), area);
    };
    match (&place.seen, kind) {
        (Seen::Histogram { step_ns, bins, .. }, _) => histogram(frame, area, place, *step_ns, bins),
        (Seen::Levels(_), Picture::Own) => meters(frame, area, &places, at, colours),
        (Seen::Levels(_), Picture::Columns) => columns(frame, area, &places, colours),
        (Seen::Figures { .. }, _) => lines(frame, area, &places, at, colours),
        (Seen::Nothing, _) => {}
    }
}

fn waiting(feed: &Feed) -> String {
    let what = feed.begun().map(|place| format!("{} {}", place.row, place.column));
    format!("  measuring {} …", what.as_deref().unwrap_or("(calibrating first: one or two seconds)"))
}

fn histogram(frame: &mut Frame, area: Rect, place: &Place, step_ns: f64, bins: &[(f64, u64)]) {
    let bars: Vec<Hits> = bins.iter().map(|&(at_ns, count)| Hits { at_ns, count, letter: '#' }).collect();
    let hits: u64 = bins.iter().map(|(_, count)| count).sum();
    let title = format!("{}, {}: lock latency, {} iterations so far", place.row, place.column, terminal::count(hits));
    let page = Page { width: usize::from(area.width), colour: false };
    let picture = Histogram { title: &title, bars: &bars, resolution_ns: step_ns }.draw(&page);
    // The axis is more important than the lowest rows above it.
    let lines: Vec<&str> = picture.lines().collect();
    let cut = lines.len().saturating_sub(usize::from(area.height));
    let kept = lines.iter().enumerate().filter(|(number, _)| *number == 0 || *number > cut);
    frame.render_widget(Text::from_iter(kept.map(|(_, line)| (*line).to_owned())), area);
}

/// Draws meters as in 1998: the newest level is at the right, and all move to the left.
fn meters(frame: &mut Frame, area: Rect, places: &[&Place], at: usize, colours: Colours) {
    let levels: Vec<&&Place> = places.iter().filter(|place| matches!(place.seen, Seen::Levels(_))).collect();
    let room = usize::from(area.height / LOWEST_STRIP).max(1);
    // The meters around the chosen one.
    let from = at.saturating_sub(room / 2).min(levels.len().saturating_sub(room));
    let shown: Vec<_> = levels.into_iter().skip(from).take(room).collect();
    let rows = Layout::vertical(shown.iter().map(|_| Constraint::Fill(1))).split(area);
    for (place, row) in shown.iter().zip(rows.iter()) {
        if let Seen::Levels(levels) = &place.seen {
            meter(frame, *row, place, levels, colours);
        }
    }
}

/// The possible values of a meter's upper edge.
const SCALES: [f64; 4] = [0.001, 0.01, 0.1, 1.0];

fn meter(frame: &mut Frame, area: Rect, place: &Place, levels: &VecDeque<(f64, f64)>, colours: Colours) {
    let width = usize::from(area.width.saturating_sub(2));
    let newest: Vec<f64> = levels.iter().rev().take(width).map(|(_, share)| *share).collect();
    let most = newest.iter().copied().fold(0.0, f64::max);
    let scale = SCALES.into_iter().find(|scale| most <= *scale).unwrap_or(1.0);
    let now = newest.first().copied().map_or_else(String::new, percent);
    let since = levels.iter().rev().nth(newest.len().saturating_sub(1)).zip(levels.back());
    let ago = since.map_or(0.0, |(oldest, newest)| newest.0 - oldest.0);
    let block = Block::bordered()
        .title(Span::styled(format!("{} {}: {now}", place.row, place.column), colours.name(&place.row)))
        .title(Line::from(percent(scale)).right_aligned())
        .title_bottom(format!("{ago:.0} s ago"))
        .title_bottom(Line::from("0 %, now").right_aligned());
    let heights: Vec<u64> = newest.iter().map(|share| (share / scale * 1_000.0).round() as u64).collect();
    let strip = Sparkline::default().data(&heights).max(1_000).direction(RenderDirection::RightToLeft);
    frame.render_widget(strip.block(block).style(colours.name(&place.row)), area);
}

/// Draws the mean of all cells over the last 1, 2, 4 … seconds: each bar averages twice as much as the one before.
fn columns(frame: &mut Frame, area: Rect, places: &[&Place], colours: Colours) {
    let bar = |power: u32| {
        let seconds = f64::from(1_u32 << power);
        let means: Vec<f64> = places.iter().filter_map(|place| mean_over(&place.seen, seconds)).collect();
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        let is_known = !means.is_empty();
        is_known.then(|| {
            let label = Line::from(span_label(1 << power));
            Bar::default().value((mean * 1_000.0) as u64).label(label).text_value(format!("{:.0}", mean * 100.0))
        })
    };
    let bars: Vec<Bar> = (0..=15).map_while(bar).collect();
    let chart = BarChart::default().data(BarGroup::default().bars(&bars)).bar_width(4).bar_gap(1).max(1_000);
    let block = Block::bordered().title("mean load (%) over the last …");
    frame.render_widget(chart.block(block).bar_style(colours.good()), area);
}

/// Returns the mean over the last seconds; `None` until this time has passed.
fn mean_over(seen: &Seen, seconds: f64) -> Option<f64> {
    let Seen::Levels(levels) = seen else { return None };
    let (first, last) = (levels.front()?.0, levels.back()?.0);
    // The first piece began before it was reported, and pieces do not end at whole seconds.
    let piece = levels.get(1).map_or(1.0, |second| second.0 - first);
    if last - first + piece < seconds - 0.1 {
        return None;
    }
    let recent = levels.iter().rev().take_while(|(at, _)| last - at < seconds - 0.1);
    let (sum, count) = recent.fold((0.0, 0_u32), |(sum, count), (_, share)| (sum + share, count + 1));
    Some(sum / f64::from(count))
}

/// Draws a line for each cell over time, with a legend.
fn lines(frame: &mut Frame, area: Rect, places: &[&Place], at: usize, colours: Colours) {
    let Some(Seen::Figures { unit, .. }) = places.get(at).or(places.first()).map(|place| &place.seen) else { return };
    let [chart, legend] = Layout::horizontal([Constraint::Min(20), Constraint::Length(30)]).areas(area);
    let drawn: Vec<(&Place, Vec<(f64, f64)>)> = places
        .iter()
        .filter_map(|place| match &place.seen {
            Seen::Figures { points, unit: own, .. } if own == unit => Some((*place, points.iter().copied().collect())),
            _ => None,
        })
        .collect();
    let all = || drawn.iter().flat_map(|(_, points)| points);
    let last_s = all().map(|point| point.0).fold(1.0, f64::max);
    let most = all().map(|point| point.1).fold(0.0, f64::max) * 1.05 + f64::MIN_POSITIVE;
    let datasets = drawn.iter().map(|(place, points)| {
        let line = Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line);
        line.style(colours.name(&place.row)).data(points)
    });
    let x = Axis::default().bounds([0.0, last_s]).labels(["0 s".to_owned(), format!("{last_s:.0} s")]);
    let y = Axis::default().bounds([0.0, most]).labels(["0".to_owned(), unit.words(most)]);
    frame.render_widget(Chart::new(datasets.collect()).x_axis(x).y_axis(y).legend_position(None), chart);
    let room = usize::from(legend.height);
    let from = at.saturating_sub(room / 2).min(drawn.len().saturating_sub(room));
    let named = drawn.iter().skip(from).take(room).map(|(place, _)| {
        let figure = place.seen.figure().map_or_else(String::new, |figure| figure.unit.words(figure.value));
        Line::from(Span::styled(format!(" ━ {figure} {} {}", place.row, place.column), colours.name(&place.row)))
    });
    frame.render_widget(Text::from_iter(named), legend);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_go_back_in_powers_of_two() {
        let levels = (1..=8).map(|second| (f64::from(second), if second > 4 { 1.0 } else { 0.0 })).collect();
        let seen = Seen::Levels(levels);
        assert_eq!(mean_over(&seen, 1.0), Some(1.0));
        assert_eq!(mean_over(&seen, 4.0), Some(1.0));
        assert_eq!(mean_over(&seen, 8.0), Some(0.5));
        assert_eq!(mean_over(&seen, 16.0), None);
    }
}
