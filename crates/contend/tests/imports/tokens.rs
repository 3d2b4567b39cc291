//! Paths in tokens that are no syntax yet: arguments of macros and attributes, and what a macro writes.

use super::scope::{Import, Path, imports, text};
use syn::ItemUse;
use syn::buffer::Cursor;

/// A path, that of a macro which is called, or one that a `use` imports.
pub enum Mention {
    Path(Path),
    Macro(Path),
    Import(Import),
}

/// All paths that stand in the tokens, in their groups as well.
pub fn mentions(cursor: Cursor) -> Vec<Mention> {
    let mut all = Vec::new();
    collect(cursor, &mut all);
    all
}

/// Paths in text, as derives take the functions that they call.
pub fn quoted(mut cursor: Cursor) -> Vec<Mention> {
    let mut all = Vec::new();
    while !cursor.eof() {
        if let Some((inside, _, _, _)) = cursor.any_group() {
            all.extend(quoted(inside));
        } else if let Some((literal, _)) = cursor.literal() {
            let parsed: Option<syn::Path> = syn::parse_str(literal.to_string().trim_matches('"')).ok();
            let path = parsed.map(|path| path.segments.iter().map(|segment| text(&segment.ident)).collect());
            // A single segment is something in this file, or is imported.
            all.extend(path.filter(|path: &Path| path.len() > 1).map(Mention::Path));
        }
        (_, cursor) = cursor.token_tree().expect("the end is not reached");
    }
    all
}

fn collect(mut cursor: Cursor, all: &mut Vec<Mention>) {
    let mut marks = Marks::default();
    while !cursor.eof() {
        if let Some((name, _)) = cursor.ident() {
            if name == "use"
                && let Some((import, rest)) = import(cursor)
            {
                all.extend(imports(&import).into_iter().map(Mention::Import));
                cursor = rest;
            } else {
                let (path, rest) = path(cursor);
                let kind = if is_call(rest) { Mention::Macro } else { Mention::Path };
                all.extend(marks.allow(path).map(kind));
                cursor = rest;
            }
            marks = Marks::default();
        } else if let Some((inside, _, _, rest)) = cursor.any_group() {
            collect(inside, all);
            (cursor, marks) = (rest, Marks::default());
        } else if let Some((_, rest)) = cursor.lifetime() {
            cursor = rest;
        } else if let Some((mark, rest)) = cursor.punct() {
            marks.push(mark.as_char());
            cursor = rest;
        } else {
            let (_, rest) = cursor.token_tree().expect("the end is not reached");
            (cursor, marks) = (rest, Marks::default());
        }
    }
}

/// The two marks before a name, which say whether it begins a path.
#[derive(Default)]
struct Marks([char; 2]);

impl Marks {
    fn push(&mut self, mark: char) {
        self.0 = [self.0[1], mark];
    }

    fn allow(&self, mut path: Path) -> Option<Path> {
        match self.0 {
            // A field or a method, but not the end of a range.
            [before, '.'] if before != '.' => None,
            // A variable of the macro, or the crate that has the macro.
            [_, '$'] if path[0] == "crate" => Some(path),
            [_, '$'] => None,
            [':', ':'] => {
                path[0].insert_str(0, "::");
                Some(path)
            }
            _ => Some(path),
        }
    }
}

/// As many segments as there are.
fn path(cursor: Cursor<'_>) -> (Path, Cursor<'_>) {
    let (first, mut cursor) = cursor.ident().expect("a path begins with a name");
    let mut path = vec![text(&first)];
    while let Some((name, rest)) = double_colon(cursor).and_then(|after| after.ident()) {
        path.push(text(&name));
        cursor = rest;
    }
    (path, cursor)
}

/// Whether what was before is called as a macro.
fn is_call(cursor: Cursor<'_>) -> bool {
    cursor.punct().is_some_and(|(mark, after)| mark.as_char() == '!' && after.any_group().is_some())
}

fn double_colon(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    colon(cursor).and_then(colon)
}

fn colon(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    cursor.punct().filter(|(mark, _)| mark.as_char() == ':').map(|(_, rest)| rest)
}

/// A whole `use`, if that is what begins here.
fn import(mut cursor: Cursor<'_>) -> Option<(ItemUse, Cursor<'_>)> {
    let mut tokens = Vec::new();
    loop {
        let (token, rest) = cursor.token_tree()?;
        let end = cursor.punct().is_some_and(|(mark, _)| mark.as_char() == ';');
        tokens.push(token);
        cursor = rest;
        if end {
            return Some((syn::parse2(tokens.into_iter().collect()).ok()?, cursor));
        }
    }
}
