//! The tables whose cells are measured.

use super::item::Item;
use crate::action::Action;
use crate::matrix::Kind;

pub fn items() -> Vec<Item> {
    Kind::ALL.into_iter().map(|kind| Item::new(kind.title(), kind.about(), Action::Matrix(kind))).collect()
}
