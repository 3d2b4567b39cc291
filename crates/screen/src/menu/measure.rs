//! What can be measured: the survey, and the registry of experiments.

use super::item::{Given, Item};
use super::which::Menu;
use crate::action::Action;
use crate::choice::Time;
use experiments::ALL;
use harness::Entry;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let survey = Item::new(
        "survey",
        "Run every experiment briefly; print findings as sentences",
        Action::Start(given.choice.survey()),
    );
    let survey = survey.refused(endless(given, false));
    let each = ALL.iter().map(|entry| {
        let about = entry.command().get_about().map(ToString::to_string).unwrap_or_default();
        let item = Item::new(entry.name, about, Action::Start(given.choice.command(entry)));
        item.refused(refusal(entry, given))
    });
    let calls = ALL.iter().map(|entry| {
        let name = format!("{} …", entry.name);
        Item::new(
            name,
            format!("Choose an example of `contend {}` and edit it", entry.name),
            Action::Open(Menu::Examples(entry.name)),
        )
    });
    std::iter::once(survey.refused_while_running(given)).chain(each).chain(calls).collect()
}

fn refusal(entry: &Entry, given: &Given<'_>) -> Option<String> {
    let needs = entry.needs.map(|needs| format!("needs {needs}; edit an example from the menu `{} …`", entry.name));
    needs.or_else(|| endless(given, entry.takes("until_signal"))).or_else(|| running(given))
}

fn endless(given: &Given<'_>, can: bool) -> Option<String> {
    (given.choice.time == Time::UntilStopped && !can)
        .then(|| "this experiment cannot run until stopped; choose another time in the menu Time".to_owned())
}

/// Two at once would be in each other's figures.
pub fn running(given: &Given<'_>) -> Option<String> {
    given.is_running.then(|| "another command is running and would distort the results; stop it first".to_owned())
}

impl Item {
    fn refused_while_running(mut self, given: &Given<'_>) -> Self {
        self.refusal = self.refusal.or_else(|| running(given));
        self
    }
}
