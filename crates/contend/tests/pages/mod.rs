//! The pages of the book and README, the commands on them, and the outputs that they show.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod blocks;
pub mod files;
pub mod session;
pub mod shape;

use blocks::Block;
use files::Page;

/// Returns the blocks of a page that have commands.
pub fn consoles(page: &Page) -> Vec<Block> {
    let blocks = blocks::of(&page.name, &page.text).into_iter();
    blocks.filter(|block| block.info.as_deref() == Some("console")).collect()
}
