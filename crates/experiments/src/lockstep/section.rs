//! A bulk-synchronous job, measured and predicted.

use ::lockstep::prediction::TENTHS;
use ::lockstep::record::{NodesRow, RankRow, Row, StepsRow};
use harness::label;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit};
use terminal::{count, ratio};

pub fn section(rows: &[Row]) -> Section {
    let steps =
        rows.iter().filter_map(|row| if let Row::Steps(row) = row { Some(row) } else { None }).collect::<Vec<_>>();
    let nodes =
        rows.iter().filter_map(|row| if let Row::Nodes(row) = row { Some(row) } else { None }).collect::<Vec<_>>();
    let ranks =
        rows.iter().filter_map(|row| if let Row::Rank(row) = row { Some(&**row) } else { None }).collect::<Vec<_>>();
    Section {
        experiment: "lockstep",
        title: "Bulk-synchronous ranks on MPI".into(),
        findings: statements(&steps),
        figures: vec![slowdowns(&steps, &nodes), losses(&ranks)],
        histograms: Vec::new(),
    }
}

fn statements(steps: &[&StepsRow]) -> Vec<Statement> {
    let most = steps.iter().max_by_key(|row| row.ranks);
    let statement = most.map(|row| {
        let verdict = match row.agree {
            Some(true) => "each is inside the other's confidence interval".to_owned(),
            Some(false) => "they differ".to_owned(),
            None => terminal::too_few("repetitions for confidence intervals", TENTHS),
        };
        format!(
            "{} ranks took {} as long as without noise; the prediction from their noise is {}. Verdict: {verdict}.",
            count(row.ranks),
            ratio(row.slowdown),
            ratio(row.predicted_slowdown)
        )
    });
    statement.into_iter().map(Statement::from).collect()
}

fn slowdowns(steps: &[&StepsRow], nodes: &[&NodesRow]) -> Figure {
    let series = |name: &str, mark, points| Series { name: name.to_owned(), mark, points };
    let measured = steps.iter().map(|row| Point::with_interval(row.ranks as f64, row.slowdown, row.slowdown_ci));
    let predicted =
        steps.iter().map(|row| Point::with_interval(row.ranks as f64, row.predicted_slowdown, row.predicted_ci));
    let more = nodes.iter().map(|row| Point::with_interval(row.nodes as f64, row.slowdown, row.slowdown_ci));
    Figure {
        title: "Slowdown by number of ranks, measured and predicted".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "ranks or nodes", unit: Unit::Number, logarithmic: true },
            y: Axis { label: "slowdown", unit: Unit::Times, logarithmic: false },
            series: vec![
                series("measured", Mark::Points, measured.collect()),
                series("predicted", Mark::Line, predicted.collect()),
                series("more nodes", Mark::Line, more.collect()),
            ],
        }),
        tables: vec![slowdown_table(steps, nodes)],
        secondary: false,
    }
}

fn slowdown_table(steps: &[&StepsRow], nodes: &[&NodesRow]) -> Table {
    let of_steps = |row: &&StepsRow| {
        vec![
            format!("{} ranks", count(row.ranks)),
            Unit::Times.words_with(row.slowdown, row.slowdown_ci),
            Unit::Times.words_with(row.predicted_slowdown, row.predicted_ci),
            ratio(row.apart_slowdown),
            Unit::Ns.words(row.p50_us * 1e3),
            Unit::Ns.words(row.p99_us * 1e3),
        ]
    };
    let of_nodes = |row: &&NodesRow| {
        let star = if row.supported { "" } else { ", extrapolated" };
        let predicted = Unit::Times.words_with(row.slowdown, row.slowdown_ci);
        let none = || "–".to_owned();
        vec![format!("{} nodes{star}", count(row.nodes)), none(), predicted, none(), none(), none()]
    };
    Table {
        caption: "Slowdown".into(),
        header: vec!["ranks or nodes", "measured (95 % CI)", "predicted (95 % CI)", "apart", "median step", "p99 step"],
        rows: steps.iter().map(of_steps).chain(nodes.iter().map(of_nodes)).collect(),
    }
}

fn losses(ranks: &[&RankRow]) -> Figure {
    let line = |row: &&RankRow| {
        let cause = row.causes_in_steps.first().map_or_else(|| "–".to_owned(), |cause| label(&cause.cause));
        vec![
            format!("rank {} on {}, CPU {}", row.rank, row.host, row.cpu),
            Unit::Share.words(row.lost_share),
            Unit::Share.words(row.lost_in_steps_share),
            Unit::Ns.words(row.longest_us * 1e3),
            count(row.last_steps),
            Unit::Ns.words(row.clock_error_us * 1e3),
            cause,
        ]
    };
    Figure {
        title: "Time lost by each rank".into(),
        picture: Picture::None,
        tables: vec![Table {
            caption: "Ranks".into(),
            header: vec![
                "rank",
                "lost, whole run",
                "lost in steps",
                "longest gap",
                "certainly last",
                "clock error",
                "main cause",
            ],
            rows: ranks.iter().map(line).collect(),
        }],
        secondary: false,
    }
}
