//! `contend machines`: machines compared by the costs of waiting in their records.

mod command;
mod page;
mod pooled;
mod price;
mod score;
mod sides;
mod text;
mod values;

pub use command::{Flags, run};
