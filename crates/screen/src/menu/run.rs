//! What can be done with the command that runs, or ran last.

use super::item::{Given, Item};
use crate::action::Action;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let stop = given.is_running.then(|| Item::new("stop", "Stop the command and save its results", Action::Stop));
    let text =
        Item::new("printed text", "Show the tables and charts of the record, and standard error", Action::ShowText);
    let text = text.refused(given.is_running.then(|| "the text is printed when the command ends".to_owned()));
    let live = Item::new("live chart", "Show the results while they are measured", Action::ShowLive);
    stop.into_iter().chain([live, text]).collect()
}
