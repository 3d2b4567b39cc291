//! The records that are kept, the newest first.

use super::item::{Given, Item};
use super::which::Menu;
use crate::action::Action;
use terminal::moment;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let records = match given.records.found() {
        Ok(records) => records,
        Err(why) => return vec![Item::said("(no records)", why)],
    };
    let compare = {
        let marked = given.records.marked();
        let words = ["compare".to_owned()].into_iter().chain(marked.iter().cloned()).chain(given.choice.archived());
        let refusal =
            (marked.len() != 2).then(|| format!("mark two records with the space bar; {} marked", are(marked.len())));
        let about = "Test whether the second record differs from the first";
        Item::new("compare marked", about, Action::Start(words.collect())).refused(refusal)
    };
    let list = Item::new("list", "List all records", Action::Start(words(&["history", "list"], given)));
    let ladder =
        Item::new("ladder", "Draw the latency ladder of the last survey", Action::Start(words(&["ladder"], given)));
    let each = records.iter().map(|entry| {
        let summary = &entry.summary;
        let name = format!("{}  {}  {}", entry.short_id(), moment(summary.started_unix_s), summary.experiment);
        let called = crate::command_line::shown(&summary.command_line);
        let item = Item::new(name, called, Action::Open(Menu::Record(entry.short_id().to_owned())));
        item.marked(given.records.is_marked(entry.short_id()))
    });
    [compare, list, ladder].into_iter().chain(each).collect()
}

fn are(number: usize) -> String {
    if number == 1 { "1 is".to_owned() } else { format!("{number} are") }
}

fn words(command: &[&str], given: &Given<'_>) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).chain(given.choice.archived()).collect()
}
