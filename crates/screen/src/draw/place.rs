//! The layout: the row above, columns below it, the middle, two lines at the foot.

use crate::app::{App, OpenMenu};
use crate::menu::item::Item;
use crate::menu::which::Menu;
use ratatui_core::layout::Rect;

/// Lines below the middle: what is said, and the command line.
const FOOT: u16 = 2;
/// No menu is wider.
const WIDEST: usize = 76;

/// Between the row and the foot.
pub fn middle(area: Rect) -> Rect {
    Rect { y: area.y + 1, height: area.height.saturating_sub(1 + FOOT), ..area }
}

/// Where each title begins, and how wide it is.
pub fn titles(row: &[Menu]) -> impl Iterator<Item = (u16, u16)> + '_ {
    row.iter().scan(1_u16, |x, menu| {
        let width = menu.title().chars().count() as u16 + 2;
        let begins = *x;
        *x += width;
        Some((begins, width))
    })
}

/// The title at a column of the row.
pub fn title_at(row: &[Menu], column: u16) -> Option<usize> {
    titles(row).position(|(x, width)| (x..x + width).contains(&column))
}

/// How an item is written.
pub fn words(item: &Item) -> String {
    let mark = match item.mark {
        Some(true) => "✓ ",
        Some(false) => "  ",
        None => "",
    };
    format!("{mark}{}", item.name)
}

/// Where an open menu is drawn: under its title, or next to the menu that it opened from; always whole on the screen.
pub fn column(app: &App, depth: usize) -> Rect {
    let open = &app.open[depth];
    let room = middle(app.area);
    let widest = open.items.iter().map(|item| words(item).chars().count()).max().unwrap_or(0);
    let width = (widest.min(WIDEST) as u16 + 4).min(room.width);
    let height = (open.items.len() as u16).saturating_add(2).min(room.height);
    let wanted = match depth {
        0 => titles(&app.row()).nth(app.title).map_or(0, |(x, _)| x),
        _ => column(app, depth - 1).x + 3 * depth as u16,
    };
    let x = wanted.min(room.right().saturating_sub(width)).max(room.x);
    let y = (room.y + depth as u16).min(room.bottom().saturating_sub(height)).max(room.y);
    Rect { x, y, width, height }
}

/// The first item that is seen: the one that is chosen is among them.
pub fn first_seen(open: &OpenMenu, height: u16) -> usize {
    let room = usize::from(height.saturating_sub(2)).max(1);
    open.at.saturating_sub(room / 2).min(open.items.len().saturating_sub(room))
}

/// The open menu and the item at a place of the screen.
pub fn item_at(app: &App, x: u16, y: u16) -> Option<(usize, usize)> {
    (0..app.open.len()).rev().find_map(|depth| {
        let area = column(app, depth);
        let is_inside =
            (area.x..area.right()).contains(&x) && (area.y + 1..area.bottom().saturating_sub(1)).contains(&y);
        let item = usize::from(y.checked_sub(area.y + 1)?) + first_seen(&app.open[depth], area.height);
        (is_inside && item < app.open[depth].items.len()).then_some((depth, item))
    })
}
