//! The probability that the other thread spoils a frame.

use super::record::Row;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct, optional};
use terminal::{nanoseconds, percent};

/// The least probability that is drawn; rarer outcomes are only in the table, since they would compress all others in
/// the picture.
const RAREST_DRAWN: f64 = 1e-12;

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "model",
        title: "Frames (model)".into(),
        findings: rows.iter().filter_map(finding).map(Statement::from).collect(),
        figures: vec![losses(rows), often(rows)],
        histograms: Vec::new(),
    }
}

/// A year of 365.25 days.
const YEAR_S: f64 = 31_557_600.0;

fn seconds(seconds: Option<f64>) -> String {
    match seconds {
        None => "never".into(),
        Some(s) if s < 120.0 => format!("every {}", nanoseconds(s * 1e9)),
        Some(s) if s < 7_200.0 => format!("every {:.0} min", s / 60.0),
        Some(s) if s < 172_800.0 => format!("every {:.0} h", s / 3_600.0),
        Some(s) if s < 63_115_200.0 => format!("every {:.0} days", s / 86_400.0),
        Some(s) if s < 1e9 * YEAR_S => format!("every {} years", Unit::Number.words((s / YEAR_S).round())),
        Some(_) => "less than once in 1,000,000,000 years".into(),
    }
}

fn finding(row: &Row) -> Option<String> {
    let quantum = nanoseconds(row.quantum_us() * 1e3);
    match row {
        Row::Any(any) => {
            Some(format!("With a quantum of {quantum}, a frame loses at least one quantum {}.", seconds(any.every_s)))
        }
        Row::MoreThan(more) => Some(format!(
            "With a quantum of {quantum}, a frame loses more than {} of its time {}.",
            percent(more.more_than_share),
            seconds(more.every_s)
        )),
        _ => None,
    }
}

fn losses(rows: &[Row]) -> Figure {
    let lost: Vec<_> =
        rows.iter().filter_map(|row| if let Row::Lost(lost) = row { Some(lost) } else { None }).collect();
    let series = distinct(&lost, |row| row.quantum_us.to_bits()).into_iter().map(|quantum| {
        let of = lost.iter().filter(|row| row.quantum_us.to_bits() == quantum && row.probability >= RAREST_DRAWN);
        Series {
            name: format!("quantum {}", nanoseconds(f64::from_bits(quantum) * 1e3)),
            mark: Mark::Line,
            points: of.map(|row| Point::new(row.lost_share, row.probability)).collect(),
        }
    });
    let lines = lost.iter().map(|row| {
        vec![
            nanoseconds(row.quantum_us * 1e3),
            format!("{} of {}", row.lost_quanta, row.quanta),
            Unit::Probability.words(row.probability),
            Unit::Probability.words(row.more_probability),
            Unit::Probability.words(row.simulated_probability),
            optional(row.measured_probability, Unit::Probability),
            optional(row.then_probability, Unit::Probability),
        ]
    });
    Figure {
        title: "Time that a frame loses".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "lost share of the frame's time", unit: Unit::Share, logarithmic: false },
            y: Axis { label: "probability", unit: Unit::Probability, logarithmic: true },
            series: series.collect(),
        }),
        tables: vec![Table {
            caption: "Probability of a loss by number of quanta".into(),
            header: vec!["quantum", "quanta lost", "P (exactly)", "P (more)", "simulated", "measured", "1999"],
            rows: lines.collect(),
        }],
        secondary: false,
    }
}

fn often(rows: &[Row]) -> Figure {
    let line = |row: &Row| {
        let (what, probability, every) = match row {
            Row::Lost(_) => return None,
            Row::Any(any) => ("a frame loses at least one quantum".to_owned(), any.probability, any.every_s),
            Row::MoreThan(more) => {
                (format!("a frame loses more than {}", percent(more.more_than_share)), more.probability, more.every_s)
            }
            Row::Animation(lost) => {
                let what = format!("{} quanta are lost in {} frames", lost.lost_quanta, lost.window_frames);
                (what, lost.probability, lost.every_s)
            }
        };
        let quantum = nanoseconds(row.quantum_us() * 1e3);
        Some(vec![quantum, what, Unit::Probability.words(probability), seconds(every)])
    };
    Figure {
        title: "Period of each event".into(),
        picture: Picture::None,
        tables: vec![Table {
            caption: "Period of each event".into(),
            header: vec!["quantum", "event", "probability", "period"],
            rows: rows.iter().filter_map(line).collect(),
        }],
        secondary: false,
    }
}
