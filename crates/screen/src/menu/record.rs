//! What can be done with one record.

use super::item::{Given, Item};
use crate::action::Action;

pub fn items(id: &str, given: &Given<'_>) -> Vec<Item> {
    let words = |command: &[&str]| -> Vec<String> {
        command.iter().map(|word| (*word).to_owned()).chain(given.choice.archived()).collect()
    };
    let show = Item::new("show", "Show the record as it was printed", Action::Start(words(&["history", "show", id])));
    let page = match given.records.page_of(id) {
        Some(path) => {
            let path = path.display().to_string();
            Item::new(
                "page",
                "Open the HTML report in a browser",
                Action::Page(words(&["report", id, "--output", &path])),
            )
        }
        None => Item::said("page", "there is no archive to write the report next to"),
    };
    let ladder = Item::new("ladder", "Draw its costs on one axis", Action::Start(words(&["ladder", id])));
    let before = given.records.before(id);
    let refusal = before.is_none().then(|| "the archive has no older record of this experiment".to_owned());
    let compare = words(&["compare", &before.unwrap_or_default(), id]);
    let compare =
        Item::new("compare", "Compare with the previous record of the same experiment", Action::Start(compare));
    let mark = Item::new("mark", "Mark it for comparison with another record", Action::TurnRecord(id.to_owned()));
    vec![show, page, ladder, compare.refused(refusal), mark.marked(given.records.is_marked(id))]
}
