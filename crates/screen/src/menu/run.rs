//! What can be done with the command that runs, or ran last.

use super::item::{Given, Item};
use crate::action::Action;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let stop = given.is_running.then(|| Item::new("stop", "What was measured so far is kept", Action::Stop));
    let text = Item::new(
        "what it printed",
        "Tables and pictures of the record, and what was said on stderr",
        Action::ShowText,
    );
    let text = text.refused(given.is_running.then(|| "it prints at its end".to_owned()));
    let live = Item::new("live picture", "What it measures, as it is measured", Action::ShowLive);
    stop.into_iter().chain([live, text]).collect()
}
