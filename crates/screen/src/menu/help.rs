//! Keys, and the page of each experiment.

use super::item::Item;
use crate::action::Action;
use experiments::ALL;

pub fn items() -> Vec<Item> {
    let page = |entry: &harness::Entry| {
        let words = entry.name.split(' ').map(str::to_owned).chain(["--explain".to_owned()]).collect();
        Item::new(format!("method: {}", entry.name), "Print the method and its limits", Action::Start(words))
    };
    let keys = Item::new("keys", "List all keys", Action::Keys);
    let quit = Item::new("quit", "Return to the shell", Action::Quit);
    std::iter::once(keys).chain(ALL.iter().map(page)).chain([quit]).collect()
}
