//! The fonts of text: those of the system, since a built-in font would have to stay in the program forever.

use anyhow::Context;
use resvg::usvg::fontdb::{Database, Family};
use resvg::usvg::{Node, Options, Text, Tree};

/// The letters that a font family must have: without one of them the pictures' own words would have holes.
const LETTERS: &str = "aZ09.,():µ×–…";

/// The families that are tried after the system's own choice: plain ones with digits of equal width.
const KNOWN: [&str; 6] = ["DejaVu Sans", "Noto Sans", "Liberation Sans", "Roboto", "Ubuntu", "Arial"];

/// Sets the fonts, so that every text has one, whichever it requests.
///
/// # Errors
/// No font of this machine has letters: a picture without them would be useless.
pub fn set(options: &mut Options<'_>) -> anyhow::Result<()> {
    options.fontdb_mut().load_system_fonts();
    let candidates = candidates(&options.fontdb);
    let family = candidates.into_iter().find(|family| has_letters(family, options)).context(
        "no installed font can render the text of the picture; install a font package, such as \
         fonts-dejavu-core on Debian, or put a font file into ~/.fonts",
    )?;
    // The generic families are used if none of the families of a text exists.
    let fonts = options.fontdb_mut();
    fonts.set_sans_serif_family(family.clone());
    fonts.set_serif_family(family);
    Ok(())
}

/// Returns the system's sans-serif family, the known ones, and then every other: proportional ones first.
fn candidates(fonts: &Database) -> Vec<String> {
    let sans_serif = fonts.family_name(&Family::SansSerif).to_owned();
    let mut rest: Vec<(bool, String)> =
        fonts.faces().flat_map(|face| face.families.iter().map(|(name, _)| (face.monospaced, name.clone()))).collect();
    rest.sort();
    rest.dedup();
    let known = KNOWN.iter().map(|name| (*name).to_owned());
    std::iter::once(sans_serif).chain(known).chain(rest.into_iter().map(|(_, name)| name)).collect()
}

/// Returns whether the family itself exists and has the letters; no other may replace it.
fn has_letters(family: &str, options: &Options<'_>) -> bool {
    if !options.fontdb.faces().any(|face| face.families.iter().any(|(name, _)| name == family)) {
        return false;
    }
    let quoted: String = family.chars().filter(|letter| letter.is_alphanumeric() || " -_.".contains(*letter)).collect();
    let probe = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><text font-family=\"'{quoted}'\">{LETTERS}</text></svg>"
    );
    let mut alone = Options { fontdb: options.fontdb.clone(), ..Options::default() };
    alone.font_resolver.select_fallback = Box::new(|_, _, _| None);
    Tree::from_str(&probe, &alone).is_ok_and(|tree| {
        let texts = texts(tree.root().children());
        !texts.is_empty() && texts.iter().all(|text| without_glyph(text).is_empty())
    })
}

/// Returns every text of the picture.
pub fn texts(nodes: &[Node]) -> Vec<&Text> {
    let mut found = Vec::new();
    for node in nodes {
        match node {
            Node::Text(text) => found.push(text.as_ref()),
            Node::Group(group) => found.extend(texts(group.children())),
            Node::Path(_) | Node::Image(_) => {}
        }
    }
    found
}

/// Returns the letters that no font has: the font's box is drawn for them.
pub fn without_glyph(text: &Text) -> Vec<char> {
    let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
    glyphs.filter(|glyph| glyph.id.0 == 0).flat_map(|glyph| glyph.text.chars()).collect()
}
