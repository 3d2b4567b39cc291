//! The record on a terminal and on a page.

use super::findings;
use super::flags::Policy;
use super::plan::Parameters;
use super::record::{AnimationRow, AnyRow, FramesRecord, LostRow, MoreThanRow, Row};
use crate::model::show::{printed, seconds, tiny, trace};
use record::{
    Axis, Column, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, column, distinct,
};
use terminal::{self, Page, nanoseconds, percent};

/// The maximum number of rows of a table; further outcomes are in the other formats.
const MOST_LINES: usize = 12;

/// The columns of the losses, for the terminal and the page; some records have no lottery, trace or value of 1999.
const COLUMNS: [Column<LostRow>; 8] = [
    Column::page("quantum", |row| Some(nanoseconds(row.quantum_us * 1e3))),
    Column::terminal("  quanta lost", |row: &LostRow| Some(format!("  {}", terminal::count(row.lost_quanta))))
        .with_page("quanta lost", |row| Some(format!("{} of {}", row.lost_quanta, row.quanta))),
    Column::new("share of frame", |row| Some(percent(row.lost_share))),
    Column::terminal("probability", |row: &LostRow| Some(tiny(row.probability)))
        .with_page("probability (and of more)", |row| {
            Some(format!("{} ({})", tiny(row.probability), tiny(row.more_probability)))
        }),
    Column::new("simulated", |row| Some(tiny(row.simulated_probability))),
    Column::new("lottery", |row: &LostRow| row.drawn_probability.map(tiny)).if_known(),
    Column::new("trace", |row: &LostRow| row.measured_probability.map(tiny)).if_known(),
    Column::new("1999", |row: &LostRow| row.then_probability.map(printed)).if_known(),
];

pub fn show(record: &FramesRecord<'_>, page: &Page) -> String {
    let mut text = heading(record.parameters, page);
    for block in record.results.chunk_by(|a, b| a.quantum_us() == b.quantum_us()) {
        text.push('\n');
        text.push_str(&quantum(block, record.parameters, page));
    }
    text + "\n" + &terminal::items("Assumed", &record.parameters.assumptions, page)
}

fn heading(parameters: &Parameters, page: &Page) -> String {
    let mut names: Vec<String> = match (parameters.priorities.as_slice(), parameters.shares.as_slice()) {
        ([], shares) => shares.iter().map(f64::to_string).collect(),
        (priorities, _) => priorities.iter().map(i32::to_string).collect(),
    };
    let kind = match (parameters.policy, parameters.shares.is_empty()) {
        (_, false) => "Lottery with shares",
        (Policy::Lottery, _) => "Lottery with priorities",
        (Policy::Weights, _) => "Linux weights with nice values",
    };
    let fraction = parameters.others_fraction.as_ref().map_or_else(String::new, |fraction| format!(" ({fraction})"));
    let known = parameters.others_fraction.as_deref() == Some(findings::FRACTION);
    let single = names.len() == 2;
    let threads = format!(
        "{kind} {}; frames of {}",
        names.remove(0) + " and " + &names.join(", "),
        nanoseconds(parameters.frame_us * 1e3),
    );
    let others = format!(
        "{} {} of the CPU{fraction}{}",
        if single { "the other thread takes" } else { "the other threads take" },
        percent(parameters.others_share),
        if known { "; 1999: 1/1025" } else { "" },
    );
    let mut text = terminal::wrapped("", "  ", &threads, page) + &terminal::wrapped(" ", "   ", &others, page);
    if let Some(beside) = &parameters.beside {
        text.push_str(&terminal::wrapped(" ", "   ", &format!("compared with {}", trace(beside)), page));
    }
    text
}

fn quantum(block: &[Row], parameters: &Parameters, page: &Page) -> String {
    let lost: Vec<&LostRow> =
        block.iter().filter_map(|row| if let Row::Lost(row) = row { Some(row) } else { None }).collect();
    let mut text = table(&lost, page);
    for row in block {
        text.push_str(&match row {
            Row::Lost(_) => String::new(),
            Row::Any(row) => any(row),
            Row::MoreThan(row) => more_than(row),
            Row::Animation(row) => animation(row, parameters),
        });
    }
    text
}

fn table(rows: &[&LostRow], page: &Page) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let likely = likeliest(rows);
    let shown = likely.len();
    let rest = if shown < rows.len() {
        format!("  the {shown} likeliest of {} outcomes; --format csv prints all\n", terminal::count(rows.len() as u64))
    } else {
        String::new()
    };
    let quantum = nanoseconds(first.quantum_us * 1e3);
    format!("Quantum of {quantum}: {} per frame\n", terminal::count(first.quanta))
        + &column::in_letters(&COLUMNS, likely, page)
        + &rest
}

/// Returns the likeliest by any account, in their order, where there are too many for a page.
fn likeliest<'a>(rows: &[&'a LostRow]) -> Vec<&'a LostRow> {
    let weight = |row: &LostRow| {
        let others = [row.drawn_probability, row.measured_probability];
        others.into_iter().flatten().fold(row.probability.max(row.simulated_probability), f64::max)
    };
    let mut likely: Vec<&LostRow> = rows.iter().copied().filter(|row| weight(row) > 0.0).collect();
    likely.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    likely.truncate(MOST_LINES);
    likely.sort_by_key(|row| row.lost_quanta);
    likely
}

fn any(row: &AnyRow) -> String {
    let (Some(frames), Some(every_s)) = (row.every_frames, row.every_s) else {
        return "  no frame loses a quantum\n".to_owned();
    };
    let then = row
        .then_every_frames
        .map_or_else(String::new, |frames| format!("    1999: once in {frames} frames, every 3 or 4 s\n"));
    let frames = if frames < 1e6 { format!("{frames:.1}") } else { format!("{frames:.1e}") };
    format!("  one frame in {frames} loses at least one quantum: every {}\n{then}", seconds(every_s))
}

fn more_than(row: &MoreThanRow) -> String {
    let every = row.every_s.map_or_else(|| "never".to_owned(), |every_s| format!("every {}", seconds(every_s)));
    let then = row
        .then_probability
        .map_or_else(String::new, |then| format!("    1999: less than {} of frames\n", printed(then)));
    let counted = |what: &str, p: f64, low: f64, high: f64, frames: u64| {
        format!(
            "    {what}: {} (95 % CI {} to {}) of {} frames\n",
            tiny(p),
            tiny(low),
            tiny(high),
            terminal::count(frames)
        )
    };
    let mut text = format!(
        "  {1} of frames lose more than {0}: {every}\n{then}",
        percent(row.more_than_share),
        tiny(row.probability)
    );
    let simulated = row.simulated_ci;
    text += &counted("simulated", row.simulated_probability, simulated.low, simulated.high, row.simulated_frames);
    if let (Some(p), Some(ci), Some(frames)) = (row.measured_probability, row.measured_ci, row.measured_frames) {
        text += &counted("trace", p, ci.low, ci.high, frames);
    }
    text
}

fn animation(row: &AnimationRow, parameters: &Parameters) -> String {
    let every = row.every_s.map_or_else(|| "never".to_owned(), |every_s| format!("every {}", seconds(every_s)));
    let glitch = row.first_glitch_s.map_or_else(|| "never".to_owned(), |s| format!("after {} on average", seconds(s)));
    let then = row.then_every_s.map_or_else(String::new, |_| "    1999: less than once in 10 min\n".to_owned());
    let plural = if row.lost_quanta == 1 { "loss" } else { "losses" };
    let head = format!(
        "  an animation that needs {} of the CPU and computes {:.2} frames ahead\n",
        percent(parameters.animation_needs_share),
        parameters.animation_ahead_frames,
    );
    let resisted = terminal::count(row.resisted_quanta);
    let lost = format!("{} {plural} in {} frames", terminal::count(row.lost_quanta), row.window_frames);
    head + &format!("    tolerates {resisted} losses in a row; {lost}: {every}\n{then}    first late frame: {glitch}\n")
}

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

fn period(seconds: Option<f64>) -> String {
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
            Some(format!("With a quantum of {quantum}, a frame loses at least one quantum {}.", period(any.every_s)))
        }
        Row::MoreThan(more) => Some(format!(
            "With a quantum of {quantum}, a frame loses more than {} of its time {}.",
            percent(more.more_than_share),
            period(more.every_s)
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
    Figure {
        title: "Time that a frame loses".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "lost share of the frame's time", unit: Unit::Share, logarithmic: false },
            y: Axis { label: "probability", unit: Unit::Probability, logarithmic: true },
            series: series.collect(),
        }),
        tables: vec![column::on_page("Probability of a loss by number of quanta", &COLUMNS, lost.iter().copied())],
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
        Some(vec![quantum, what, Unit::Probability.words(probability), period(every)])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_fits_the_page_whatever_its_values() {
        let parameters: Parameters = serde_json::from_value(serde_json::json!({
            "policy": "lottery", "priorities": (100..140).collect::<Vec<i32>>(), "shares": [], "others_share": 0.123,
            "others_fraction": "1099511627775/1099511627776", "quantum_us": [3_000.0], "frame_us": 16_667.0,
            "more_than_share": [], "animation_needs_share": 0.5, "animation_ahead_frames": 1.0, "assumptions": [],
            "beside": {
                "file": "traces/a-node-of-the-cluster.trace", "span_s": 123_456.7, "span_from": "flag",
                "gaps": u64::MAX, "lost_share": 0.123, "longest_gap_us": 1e9
            }
        }))
        .expect("the sample is as the experiment writes it");
        let text = heading(&parameters, &Page::plain());
        assert!(
            text.starts_with("Lottery with priorities 100 and 101, 102") && text.contains("\n  the other"),
            "{text}"
        );
        assert!(text.contains("\n  compared with") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
