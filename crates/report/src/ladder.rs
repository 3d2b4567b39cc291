//! The ladder as a figure: its picture, and the table with the same figures.

use record::{Cost, CostThen, Figure, Ladder, Picture, Table, Unit};

/// With its title and its table.
pub fn figure(ladder: &Ladder) -> Figure {
    let table = Table {
        caption: "Costs of waiting as a table".into(),
        header: vec!["cost", "now (95 % CI)", "in documents of 1998 to 2008", "measured value"],
        rows: ladder.costs.iter().map(line).collect(),
    };
    Figure {
        title: "Costs of waiting, from 1 ns to 10 s; hollow marks: 1998 to 2008".into(),
        picture: Picture::Ladder(ladder.clone()),
        tables: vec![table],
        secondary: false,
    }
}

fn line(cost: &Cost) -> Vec<String> {
    let then = |then: &CostThen| format!("{} in {}", Unit::Ns.words(then.ns), then.year);
    let then: Vec<String> = cost.then.iter().map(then).collect();
    vec![
        cost.what.clone(),
        Unit::Ns.words_with(cost.ns, cost.ns_ci),
        if then.is_empty() { "–".to_owned() } else { then.join(", ") },
        cost.figure.clone(),
    ]
}
