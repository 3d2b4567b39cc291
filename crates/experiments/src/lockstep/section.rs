//! A bulk-synchronous job, measured and predicted.

use super::columns::{NODES, RANKS, STEPS};
use ::lockstep::prediction::TENTHS;
use ::lockstep::record::{NodesRow, RankRow, Row, StepsRow};
use record::column::on_page;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Unit};
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
        tables: vec![
            on_page(
                "Ranks, measured and predicted (separate: as if the ranks shared no interruptions; +: some shared a CPU)",
                &STEPS,
                steps.iter().copied(),
            ),
            on_page(
                "More nodes, predicted (together: all interrupted at the same moments; *: extrapolated)",
                &NODES,
                nodes.iter().copied(),
            ),
        ],
        secondary: false,
    }
}

fn losses(ranks: &[&RankRow]) -> Figure {
    Figure {
        title: "Time lost by each rank".into(),
        picture: Picture::None,
        tables: vec![on_page(
            "Ranks (last: how often certainly the last; clock: its offset and error)",
            &RANKS,
            ranks.iter().copied(),
        )],
        secondary: false,
    }
}
