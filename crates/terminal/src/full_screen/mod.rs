//! The terminal as a full-screen interface: its modes, its keys, and the cells that ratatui draws.

mod backend;
mod input;
mod tty;

pub use backend::Backend;
pub use input::{Event, Input, Key};
pub use tty::{Canvas, Tty, copy, size};
