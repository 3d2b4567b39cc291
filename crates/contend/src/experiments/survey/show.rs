//! The record on a terminal: the sections of each experiment, then the closing table.

use super::record::{Row, SurveyRecord, ThenAndNow, Unit};
use crate::experiments::{clock, latency};
use crate::output::Show;
use crate::terminal::{self, Page, megahertz, nanoseconds, percent, ratio};

impl Show for SurveyRecord {
    fn show(&self, page: &Page) -> String {
        let mut clock_rows = Vec::new();
        let mut latency_rows = Vec::new();
        let mut figures = Vec::new();
        for row in self.results.iter().cloned() {
            match row {
                Row::Clock(row) => clock_rows.push(row),
                Row::Latency(row) => latency_rows.push(*row),
                Row::ThenAndNow(figure) => figures.push(figure),
            }
        }
        let parts =
            [clock::sections(&clock_rows, page), latency::sections(&latency_rows, page), then_and_now(&figures)];
        parts.join("\n")
    }
}

fn then_and_now(figures: &[ThenAndNow]) -> String {
    let lines = figures.iter().map(|figure| {
        vec![
            figure.figure.clone(),
            value(figure.then, figure.unit),
            figure.today.map_or_else(|| figure.note.clone().unwrap_or_default(), |today| value(today, figure.unit)),
            figure.ratio.map_or_else(String::new, ratio),
        ]
    });
    terminal::table(&["1998 and today", "1998", "today", "1998/today"], lines)
}

fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => nanoseconds(value),
        Unit::Share => percent(value),
        Unit::Times => ratio(value),
        Unit::Mhz => megahertz(value),
        Unit::Cycles => format!("{value:.1} cycles"),
    }
}
