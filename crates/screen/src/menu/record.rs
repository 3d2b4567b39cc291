//! What can be done with one record.

use super::item::{Given, Item};
use crate::action::Action;

pub fn items(id: &str, given: &Given<'_>) -> Vec<Item> {
    let words = |command: &[&str]| -> Vec<String> {
        command.iter().map(|word| (*word).to_owned()).chain(given.choice.archived()).collect()
    };
    let show =
        Item::new("show", "As it was shown when it was measured", Action::Start(words(&["history", "show", id])));
    let page = match given.records.page_of(id) {
        Some(path) => {
            let path = path.display().to_string();
            Item::new("page", "As a page, opened in a browser", Action::Page(words(&["report", id, "--output", &path])))
        }
        None => Item::said("page", "there is no archive, and so no place for it"),
    };
    let ladder = Item::new("ladder", "Its costs on one axis", Action::Start(words(&["ladder", id])));
    let before = given.records.before(id);
    let refusal = before.is_none().then(|| "there is no older record of this experiment".to_owned());
    let compare = words(&["compare", &before.unwrap_or_default(), id]);
    let compare = Item::new("compare", "With the record before it of the same experiment", Action::Start(compare));
    let mark = Item::new("mark", "To compare it with another", Action::TurnRecord(id.to_owned()));
    vec![show, page, ladder, compare.refused(refusal), mark.marked(given.records.is_marked(id))]
}
