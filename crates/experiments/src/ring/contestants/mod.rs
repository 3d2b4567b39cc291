//! Who passes the token: programs in other languages, each with its recipe; the built-in ones are [`loops::ring`]'s.

mod contestant;
mod embedded;
mod recipe;
mod toolchain;

pub use contestant::{Contestant, Runs};
pub use embedded::{Source, embedded, in_folder};
pub use recipe::{Recipe, recipes};
pub use toolchain::{Toolchain, filled};
