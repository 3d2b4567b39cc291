//! An HTML page of records that needs no other file: it reads sections and never measures.

mod draw;
mod hues;
mod page;
#[cfg(test)]
mod tests;

pub use draw::{ladder_file, picture_file};
pub use page::{
    Content, ICON, Listed, Method, SIGNATURE, Sheet, header, index, machine, page, sheet, subject_with_locks, time,
    verdict,
};
