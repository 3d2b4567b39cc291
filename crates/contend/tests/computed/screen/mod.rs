//! `contend screen` on its own terminal, with commands that measure nothing.

mod forms;
mod menus;
mod pictures;
mod runs;
mod terminal;
