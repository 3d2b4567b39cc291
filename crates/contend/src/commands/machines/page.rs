//! The comparison as a page.

use super::score::{Comparison, Line, Machine};
use super::text::{basis, ranks};
use record::{Bar, Bars, Cost, Figure, Ladder, Picture, Table, Unit};
use report::Sheet;

pub fn page(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.machines.iter().map(|machine| machine.machine.as_str()).collect();
    let systems = comparison.machines.iter().map(|one| format!("{}: {}.", one.machine, one.system));
    let notes: Vec<String> = systems
        .chain(comparison.same_system.iter().cloned())
        .chain([basis(comparison), comparison.excluded.clone()])
        .collect();
    report::sheet(&Sheet {
        title: &format!("Machines: {}", names.join(", ")),
        verdict: &verdict(&comparison.machines),
        notes: &notes,
        figures: &[scores(comparison), costs(comparison)],
        coloured: &names,
    })
}

/// Returns the sentence about the best machine.
fn verdict(machines: &[Machine]) -> String {
    let first = || machines.iter().filter(|machine| machine.rank == Some(1));
    match first().collect::<Vec<&Machine>>()[..] {
        [] => "The machines are not judged: the error of their values is unknown.".to_owned(),
        [best] => format!("{} has the lowest cost of waiting.", best.machine),
        ref several => {
            let names: Vec<&str> = several.iter().map(|machine| machine.machine.as_str()).collect();
            format!("{} are not shown to differ in the cost of waiting.", names.join(" and "))
        }
    }
}

fn scores(comparison: &Comparison) -> Figure {
    let bar = |machine: &Machine| Bar {
        name: machine.rank.map_or_else(|| machine.machine.clone(), |rank| format!("{rank}. {}", machine.machine)),
        value: Ok(machine.score_times),
        interval: machine.score_ci_times,
        limit: Some((1.0, "geometric mean".into())),
    };
    let bars = Bars { unit: Unit::Times, logarithmic: true, bars: comparison.machines.iter().map(bar).collect() };
    let table = ranks(comparison);
    let caption = format!("{}. {}", table.caption, record::ranking::LEGEND);
    Figure {
        title: "Score: costs of waiting, less is better".into(),
        picture: Picture::Bars(bars),
        tables: vec![Table { caption, ..table }],
        secondary: false,
    }
}

/// Returns every time on one axis, those of one operation below each other.
fn costs(comparison: &Comparison) -> Figure {
    let of_line = |line: &Line| {
        let of_machine = |(place, machine): (usize, &Machine)| {
            let found = line.values[place]?;
            let words = format!("{}, {}", line.what, machine.machine);
            let estimate = instruments::statistics::comparison::Estimate::new(found.value, found.interval);
            Some(Cost::new(words, "", estimate).by_lock(&machine.machine))
        };
        comparison.machines.iter().enumerate().filter_map(of_machine).collect::<Vec<Cost>>()
    };
    let times = comparison.lines.iter().filter(|line| line.unit == Unit::Ns);
    let rows = comparison.lines.iter().flat_map(|line| {
        comparison.machines.iter().enumerate().filter_map(move |(place, machine)| {
            let found = line.values[place]?;
            Some(vec![
                line.what.clone(),
                machine.machine.clone(),
                found.words(line.unit),
                line.ranks[place].map_or_else(|| "–".to_owned(), |rank| rank.to_string()),
                found.runs.to_string(),
                line.aspect.label().to_owned(),
            ])
        })
    });
    Figure {
        title: "Each cost on one axis".into(),
        picture: Picture::Ladder(Ladder { costs: times.flat_map(of_line).collect() }),
        tables: vec![Table {
            caption: format!(
                "Values over the records of each machine; the interval includes the variation between runs. {}",
                record::ranking::LEGEND_UNRANKED
            ),
            header: vec!["cost", "machine", "value (95 % CI)", "rank", "records", "aspect"],
            rows: rows.collect(),
        }],
        secondary: false,
    }
}
