//! Drawing of an SVG.

use crate::fonts;
use anyhow::{Context, ensure};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree};
use std::collections::BTreeSet;

/// Pixels of the PNG for one of the SVG: text stays sharp on a slide, and on a screen of many pixels an inch.
pub const SCALE: f32 = 2.0;

/// The maximum number of pixels: a quarter of a gigabyte of memory, forty times the size of a ladder.
const MOST_PIXELS: f64 = 64e6;

pub struct Drawn {
    pub png: Vec<u8>,
    /// The letters of its text that no font has.
    pub missing: BTreeSet<char>,
}

/// Draws the picture in its light form: the style for dark screens is ignored.
///
/// # Errors
/// It is not SVG, or too large; no font has letters.
pub fn drawn(svg: &str) -> anyhow::Result<Drawn> {
    let mut options = Options { image_href_resolver: nothing_else(), ..Options::default() };
    fonts::set(&mut options)?;
    let tree = Tree::from_str(svg, &options).context("standard input is not a valid SVG")?;
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|length| (length * SCALE).ceil());
    ensure!(
        f64::from(width) * f64::from(height) <= MOST_PIXELS,
        "the picture is too large: {width} x {height} pixels; allowed: {MOST_PIXELS} pixels; write an SVG instead, \
         which has no limit"
    );
    // The values are whole numbers that the limit keeps far below 2^32.
    let mut pixels = Pixmap::new(width as u32, height as u32).context("the picture has no size")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    let missing = fonts::texts(tree.root().children()).into_iter().flat_map(fonts::without_glyph).collect();
    Ok(Drawn { png: pixels.encode_png().context("cannot encode the PNG")?, missing })
}

/// Refuses embedded pictures: contend's pictures have none, and text of a record must not open a file.
fn nothing_else() -> ImageHrefResolver<'static> {
    ImageHrefResolver { resolve_data: Box::new(|_, _, _| None), resolve_string: Box::new(|_, _| None) }
}
