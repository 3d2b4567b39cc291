//! OS noise: causes as one bar for each scenario, repetitions and the longest gaps as timelines.

use super::cause_groups::{CauseGroup, groups, largest, lines};
use super::findings::unexplained;
use super::record::Row;
use super::show::{cause_columns, rescheduler_effect, scenario_columns};
use harness::label;
use instruments::evidence::Kind;
use record::{
    Axis, Bar, Bars, Figure, HeatMap, HeatRow, Mark, OTHERS, Picture, Plot, Point, Section, Series, Stack, Statement,
    Table, Unit, column, distinct,
};
use terminal::{count, nanoseconds, percent};

pub fn section(rows: &[Row]) -> Section {
    let overviews = if rows.is_empty() { Vec::new() } else { vec![scenarios(rows), causes(rows), timeline(rows)] };
    Section {
        experiment: "noise",
        title: "OS noise".into(),
        findings: rows.iter().map(finding).chain(rescheduler_effect(rows)).map(Statement::from).collect(),
        // An older record has no longest gaps.
        figures: overviews
            .into_iter()
            .chain(map(rows))
            .chain(rows.iter().filter(|row| !row.longest_gaps.is_empty()).map(longest))
            .collect(),
        histograms: Vec::new(),
    }
}

fn finding(row: &Row) -> String {
    let first = largest(&row.causes);
    let is_known = first.as_ref().is_none_or(|cause| cause.row.kind != Kind::Unexplained);
    let most = first.map(|cause| format!("; {} of that loss is {}", percent(cause.row.share), cause.label()));
    let rest = unexplained(row).filter(|_| is_known);
    let rest = rest.map(|share| format!("; {} is unexplained", percent(share)));
    format!(
        "{}: the sampling thread lost {} of CPU {}{}{}; the longest gap in {} was {}.",
        row.scenario,
        Unit::Share.words_with(row.lost_share, row.lost().interval),
        row.cpu,
        most.unwrap_or_default(),
        rest.unwrap_or_default(),
        nanoseconds(row.span_s * 1e9),
        nanoseconds(row.longest_us * 1e3)
    )
}

fn scenarios(rows: &[Row]) -> Figure {
    let bar = |row: &Row| Bar {
        name: row.scenario.clone(),
        value: Ok(row.lost_share),
        interval: row.lost().interval,
        limit: None,
    };
    Figure {
        title: "CPU time lost, by scenario".into(),
        picture: Picture::Bars(Bars { unit: Unit::Share, logarithmic: false, bars: rows.iter().map(bar).collect() }),
        tables: vec![column::on_page("Scenarios", &scenario_columns(), rows)],
        secondary: false,
    }
}

fn timeline(rows: &[Row]) -> Figure {
    let series = rows.iter().map(|row| {
        let points =
            row.turns.iter().enumerate().map(|(place, turn)| Point::new((place + 1) as f64, turn.longest_us * 1e3));
        Series { name: row.scenario.clone(), mark: Mark::Line, points: points.collect() }
    });
    let line = |row: &Row, place: usize| {
        let turn = &row.turns[place];
        vec![
            row.scenario.clone(),
            (place + 1).to_string(),
            Unit::Number.words(turn.span_s) + " s",
            count(turn.gaps),
            percent(turn.lost_share),
            nanoseconds(turn.longest_us * 1e3),
        ]
    };
    let lines = rows.iter().flat_map(|row| (0..row.turns.len()).map(move |place| line(row, place)));
    Figure {
        title: "Longest gap of each repetition".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "repetition", unit: Unit::Number, logarithmic: false },
            y: Axis { label: "longest gap", unit: Unit::Ns, logarithmic: true },
            series: series.collect(),
        }),
        tables: vec![Table {
            caption: "Repetitions".into(),
            header: vec!["scenario", "repetition", "measured", "gaps", "lost", "longest"],
            rows: lines.collect(),
        }],
        secondary: false,
    }
}

/// Draws where and when several CPUs lost time.
fn map(rows: &[Row]) -> Option<Figure> {
    let mapped: Vec<&Row> = rows.iter().filter(|row| !row.lost_by_time.is_empty()).collect();
    let heat = |row: &&Row| HeatRow { name: format!("CPU {}", row.cpu), shares: row.lost_by_time.clone() };
    let line = |row: &&Row| {
        let (place, most) =
            row.lost_by_time.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
        let least = row.lost_by_time.iter().copied().fold(1.0, f64::min);
        let role = row.role.clone().unwrap_or_default();
        vec![format!("CPU {}", row.cpu), percent(least), percent(most), (place + 1).to_string(), role]
    };
    (!mapped.is_empty()).then(|| Figure {
        title: "CPU time lost, by CPU and time".into(),
        picture: Picture::Map(HeatMap { across: "time of the run", rows: mapped.iter().map(heat).collect() }),
        tables: vec![Table {
            caption: "Share lost in each part of the run".into(),
            header: vec!["CPU", "least", "most", "in part", "for"],
            rows: mapped.iter().map(line).collect(),
        }],
        secondary: false,
    })
}

/// Draws one bar for each scenario.
fn causes(rows: &[Row]) -> Figure {
    let part = |cause: &CauseGroup| cause.part(cause.label());
    let stack = |row: &Row| Stack { name: row.scenario.clone(), parts: groups(&row.causes).iter().map(part).collect() };
    Figure {
        title: "Causes of the lost time".into(),
        picture: Picture::Stacks(rows.iter().map(stack).collect()),
        tables: rows.iter().map(causes_of).collect(),
        secondary: false,
    }
}

fn causes_of(row: &Row) -> Table {
    let lines = lines(&row.causes, usize::MAX, CauseGroup::label);
    column::on_page(format!("Causes: {}", row.scenario), &cause_columns(), &lines)
}

/// The number of causes with a separate series; the others are combined.
const COLOURED: usize = 6;

fn longest(row: &Row) -> Figure {
    let gaps = &row.longest_gaps;
    let words: Vec<String> = gaps.iter().map(|gap| label(&gap.cause)).collect();
    let mut names = distinct(&words, String::clone);
    names.sort_by_key(|name| std::cmp::Reverse(words.iter().filter(|word| *word == name).count()));
    let (own, shared) = names.split_at(names.len().min(COLOURED));
    let others = (!shared.is_empty()).then(|| (OTHERS.to_owned(), shared));
    let coloured = own.iter().map(|name| (name.clone(), std::slice::from_ref(name)));
    let series = coloured.chain(others).map(|(name, causes)| {
        let drawn = gaps.iter().zip(&words).filter(|(_, word)| causes.contains(word));
        let points = drawn.map(|(gap, _)| Point::new(gap.start_s * 1e9, gap.length_us * 1e3)).collect();
        Series { name, mark: Mark::Points, points }
    });
    let lines = gaps.iter().zip(&words).map(|(gap, word)| {
        vec![
            format!("{:.6} s", gap.start_s),
            nanoseconds(gap.length_us * 1e3),
            word.clone(),
            nanoseconds(gap.cause_us * 1e3),
        ]
    });
    Figure {
        title: format!("{}: the longest gaps", row.scenario),
        picture: Picture::Causes(Plot {
            x: Axis { label: "time since start", unit: Unit::Ns, logarithmic: false },
            y: Axis { label: "length", unit: Unit::Ns, logarithmic: true },
            series: series.collect(),
        }),
        tables: vec![Table {
            caption: format!("The {} longest of {} gaps, with the main cause of each", gaps.len(), count(row.gaps)),
            header: vec!["begun", "length", "cause", "part of it"],
            rows: lines.collect(),
        }],
        secondary: false,
    }
}
