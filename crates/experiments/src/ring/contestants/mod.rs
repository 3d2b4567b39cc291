//! Who passes the token: programs in other languages, each with its recipe, and the built-in ones.

pub mod built_in;
mod class;
mod contestant;
mod embedded;
mod recipe;
mod toolchain;

pub use built_in::{Arrangement, BuiltIn, RingSpec};
pub use class::Class;
pub use contestant::{Contestant, Runs};
pub use embedded::{Source, embedded, in_folder};
pub use recipe::{Recipe, recipes};
pub use toolchain::{Toolchain, filled};
