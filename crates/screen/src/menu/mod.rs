//! Menus: a row of titles, and below each a column that is built when it opens, of what there is at that moment.

mod archive;
mod cpus;
mod examples;
mod help;
pub mod item;
mod locks;
mod matrix;
mod measure;
mod record;
mod run;
mod threads;
mod time;
pub mod which;

use item::{Given, Item};
use which::Menu;

/// The lines of a menu, by what there is now.
pub fn items(menu: &Menu, given: &Given<'_>) -> Vec<Item> {
    match menu {
        Menu::Measure => measure::items(given),
        Menu::Matrix => matrix::items(),
        Menu::Locks => locks::items(given),
        Menu::Threads => threads::items(given),
        Menu::Cpus => cpus::items(given),
        Menu::Time => time::items(given),
        Menu::Archive => archive::items(given),
        Menu::Run => run::items(given),
        Menu::Help => help::items(),
        Menu::Examples(name) => examples::items(name),
        Menu::Record(id) => record::items(id, given),
    }
}
