//! The help of `?`: a sentence about the line in focus, and the keys of the present place.

use super::{Colours, folded};
use crate::app::{App, View};
use crate::form::Field;
use crate::menu::Action;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::Paragraph;

/// Keys, each with its effect.
type Keys = &'static [(&'static str, &'static str)];

/// The keys that mean the same everywhere but in a text.
const COMMON: Keys = &[
    ("m or F10", "open the menus"),
    ("e", "edit the command line before it runs"),
    ("c", "copy the command line (in terminals that support OSC 52)"),
    ("s", "stop the command, save its results; the third time kills it"),
    ("l, t", "show the live chart; show the printed text"),
    ("? or F1", "show these keys"),
    ("q, Ctrl-C", "quit; Ctrl-C stops a running command first"),
    ("Ctrl-Z", "suspend; fg in the shell resumes"),
];

const WELCOME: Keys =
    &[("↑ ↓", "choose a question"), ("Enter", "open the form that answers it"), ("← →", "open the menus")];

const MENU: Keys = &[
    ("← →", "open another menu"),
    ("↑ ↓", "choose a line; PgUp, PgDn: page; Home, End: first, last"),
    ("Enter", "open the form, run the command or open the line"),
    ("space", "mark a record"),
    ("Esc", "close the menu"),
];

const FORM: Keys = &[
    ("↑ ↓, Tab", "choose a field"),
    ("letters", "change a text; open and filter a list. On Run, the keys below"),
    ("← →", "take another value; in a text, move the cursor"),
    ("Backspace", "delete; a list then has its default"),
    ("Enter", "open the list, or go on; on Run, run the command"),
    ("Esc", "close the form"),
];

const LIST: Keys = &[
    ("letters", "filter the rows; Backspace deletes a letter"),
    ("↑ ↓", "choose a row; PgUp, PgDn: page; Home, End: first, last"),
    ("space", "mark several values, where the option takes them"),
    ("Enter", "take the marked values, or the chosen one"),
    ("Esc", "close the list, without a change"),
    ("F1", "show these keys"),
];

const EDITOR: Keys = &[
    ("Enter", "run the command line"),
    ("← →", "move the cursor; Home, End: first, last"),
    ("Ctrl-U", "delete all letters before the cursor"),
    ("Esc", "leave the command line unchanged"),
    ("F1", "show these keys"),
];

const LIVE: Keys = &[
    ("v", "switch between a table of all configurations and one chart"),
    ("Tab", "show the next configuration in the chart"),
];

const DIAGNOSIS: Keys = &[
    ("↑ ↓", "select a lock; scroll its story"),
    ("Enter", "show the story of the lock, or go back to the locks"),
    ("o", "sort by: waited now, waited in total, waits, p99, name"),
    ("p", "pause the view, or continue it; the program runs on"),
];

const TEXT: Keys = &[
    ("↑ ↓", "scroll; PgUp, PgDn: page; Home, End: first, last"),
    ("← →", "scroll sideways"),
    ("Esc", "go back to the table, if there is one, else to the questions"),
];

const MATRIX: Keys = &[
    ("← → ↑ ↓", "choose a cell"),
    ("space", "mark the cell"),
    ("Enter", "measure the marked cells, or this one"),
    ("l", "show the live chart instead of the table"),
];

/// The keys of `contend top`.
const TOP: Keys = &[
    ("↑ ↓", "select a lock; scroll its story"),
    ("Enter", "show the story of the lock: waiters, holders, cause, call path"),
    ("Esc", "go back from the story to the locks"),
    ("s", "sort by: waited now, waited in total, waits, p99, name"),
    ("p", "pause the view, or continue it; the program runs on"),
    ("q, Ctrl-C", "stop tracing, save the record and print the diagnosis"),
];

/// Draws the help over the area.
pub fn draw(frame: &mut Frame, area: Rect, app: &App, colours: Colours) {
    let (name, sentence, keys, has_common) = place(app);
    let width = area.width.saturating_sub(2).min(100);
    let mut lines = folded(&sentence, usize::from(width.saturating_sub(2)));
    // All keys fit below the sentence.
    let common = if has_common { COMMON } else { &[] };
    let all = keys.len() + common.len();
    lines.truncate(usize::from(area.height).saturating_sub(all + 3));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(keys.iter().chain(common).map(|(key, effect)| format!(" {key:<11} {effect}")));
    let height = (lines.len() as u16 + 2).min(area.height);
    let area = Rect { x: area.x + 1, y: area.y, width, height };
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(format!(" keys: {name} ")).border_style(colours.strong());
    frame.render_widget(Paragraph::new(lines.join("\n")).style(Style::new()).block(block), area);
}

/// Returns the name of the present place, a sentence about the focus, its keys, and whether the common ones apply.
fn place(app: &App) -> (&'static str, String, Keys, bool) {
    let none = String::new;
    if app.is_top {
        return ("the diagnosis", none(), TOP, false);
    }
    if app.editor.is_some() {
        return ("the command line", none(), EDITOR, false);
    }
    if let Some(form) = &app.form {
        let field = |field: &Field| format!("{}: {}", field.label(), field.help());
        let sentence = form.focus().map_or_else(|| format!("{}: {}", form.name, form.about()), field);
        return if form.list.is_some() { ("a list", sentence, LIST, false) } else { ("a form", sentence, FORM, true) };
    }
    if let Some(item) = app.chosen() {
        let example = match item.action {
            Action::Form(name) => experiments::named(name).and_then(|entry| entry.examples.first()),
            _ => None,
        };
        let example = example.map_or_else(none, |(call, about)| format!(". Example: {call} ({about})"));
        return ("a menu", format!("{}: {}{example}", item.name, item.about), MENU, true);
    }
    let has_diagnosis = app.run.as_ref().is_some_and(|run| run.feed.diagnosis.snapshot().is_some());
    match app.view {
        View::Welcome(_) => ("the empty window", none(), WELCOME, true),
        View::Live if has_diagnosis => ("the diagnosis", none(), DIAGNOSIS, true),
        View::Live => ("the live chart", none(), LIVE, true),
        View::Text(_) => ("the printed text", none(), TEXT, true),
        View::Matrix => ("a table", none(), MATRIX, true),
    }
}
