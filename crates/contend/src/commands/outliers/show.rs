//! Machines on a terminal: a line each, then the outliers.

use super::judged::{Machine, Machines, Odd};
use instruments::statistics::outlier::LEAST_MACHINES;
use record::Table;
use terminal::{Page, escaped, percent, ratio};

/// The maximum number of outlying values of a machine that are printed; the trend of its cell contains each.
const SAID: usize = 5;

pub fn text(machines: &Machines, page: &Page) -> String {
    let table = table(machines);
    let lines = terminal::table_of_words(&table.header, table.rows);
    let mut text: String = lines.lines().map(|line| page.cut(line) + "\n").collect();
    for machine in machines.machines.iter().filter(|machine| machine.odd > 0) {
        let of_it: Vec<&Odd> = machines.odd.iter().filter(|odd| odd.host == machine.host).collect();
        text += &terminal::wrapped("outlier:", "  ", &escaped(&machine.host), page);
        for odd in of_it.iter().take(SAID) {
            text += &terminal::wrapped("", "    ", &format!("  {}", escaped(&words(odd))), page);
        }
        if let Some(more @ 1..) = of_it.len().checked_sub(SAID) {
            text += &format!("  and {more} more metrics\n");
        }
    }
    text + &terminal::wrapped("", "", &bound(machines), page) + "\n"
}

/// Returns a table with a line for each machine.
pub fn table(machines: &Machines) -> Table {
    let row = |machine: &Machine| {
        let odd = if machine.odd == 0 { "–".to_owned() } else { machine.odd.to_string() };
        vec![escaped(&machine.host).into_owned(), machine.records.to_string(), odd]
    };
    Table {
        caption: bound(machines),
        header: vec!["machine", "records", "outlying metrics"],
        rows: machines.machines.iter().map(row).collect(),
    }
}

/// Writes an outlying value and those of the other machines.
fn words(odd: &Odd) -> String {
    let value = |value: f64| odd.unit.words(value);
    format!(
        "{}: {}: {}: {}, {} the median of the other machines, {} (range {}–{})",
        odd.experiment,
        odd.cell,
        odd.figure,
        value(odd.value),
        ratio(odd.value / odd.others),
        value(odd.others),
        value(odd.others_from),
        value(odd.others_to)
    )
}

/// Writes the claim, and its limits.
fn bound(machines: &Machines) -> String {
    if machines.judged == 0 {
        return format!("Outlier detection needs a metric that {LEAST_MACHINES} machines have in common.");
    }
    let (judged, chance) = (machines.judged, percent(machines.false_alarms));
    let found = if machines.odd.is_empty() {
        "No machine is an outlier"
    } else {
        "The machines above are outliers relative to the spread between machines"
    };
    format!(
        "{found} ({judged} metrics; a group of equal machines has any outlier with a probability of at most {chance})."
    )
}
