//! The paths in the text of a file that begin with `crate`, `self` or `super`.
//!
//! Comments and strings are skipped. A path is given from the root of the crate, whether a `use` has it or an
//! expression. A name that is in scope without such a path is a child of the module, or was imported by one.

use std::collections::BTreeMap;

/// Returns the paths of a file, each as its segments from the root of the crate; `module` is the module that the file
/// defines.
pub fn paths(module: &[&str], text: &str) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let (mut found, mut depth, mut inline) = (Vec::new(), 0, Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.retain(|(opened, _)| *opened <= depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|next| next == "{") => {
                inline.push((depth + 1, tokens[at + 1].clone()));
            }
            "crate" | "self" | "super"
                if tokens.get(at + 1).is_some_and(|next| next == "::") && !is_continued(&tokens, at) =>
            {
                let inner = inline.iter().map(|(_, name)| name.clone());
                let here: Vec<String> = module.iter().map(|&name| name.to_owned()).chain(inner).collect();
                read_tree(&tokens, &mut at, &here, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns the items that a file exports again, each by its name there, with its path from the root of the crate.
pub fn exported_again(module: &[&str], text: &str) -> BTreeMap<String, Vec<String>> {
    let tokens = tokens(text);
    let here: Vec<String> = module.iter().map(|&name| name.to_owned()).collect();
    let mut exported = BTreeMap::new();
    for at in (0..tokens.len()).filter(|at| tokens[*at] == "use") {
        let is_public = match tokens[..at].iter().rposition(|token| [";", "{", "}", "]"].contains(&token.as_str())) {
            Some(before) => tokens[before + 1] == "pub",
            None => tokens[0] == "pub",
        };
        if is_public {
            let (mut next, mut found) = (at + 1, Vec::new());
            read_tree(&tokens, &mut next, &here, &mut found);
            exported.extend(found);
        }
    }
    exported
}

/// Returns whether the word does not begin a path: `a::self`, or the scope of a visibility, as in `pub(in
/// super::super)`.
fn is_continued(tokens: &[String], at: usize) -> bool {
    tokens[..at].ends_with(&["::".to_owned()]) || tokens[..at].ends_with(&["(".to_owned(), "in".to_owned()])
}

/// Reads one path, or each of a braced list, from `before` on, each with the name of its item.
fn read_tree(tokens: &[String], at: &mut usize, before: &[String], found: &mut Vec<(String, Vec<String>)>) {
    let mut path = before.to_vec();
    loop {
        match tokens.get(*at).map(String::as_str) {
            Some("crate") => path.clear(),
            Some("super") => drop(path.pop()),
            Some("self") => {}
            Some("{") => {
                *at += 1;
                while tokens.get(*at).is_some_and(|token| token != "}") {
                    read_tree(tokens, at, &path, found);
                    *at += usize::from(tokens.get(*at).is_some_and(|token| token != "}"));
                }
                *at += 1;
                return;
            }
            Some(name) if name == "*" || is_word(name) => path.push(name.to_owned()),
            _ => break,
        }
        *at += 1;
        if tokens.get(*at).is_none_or(|token| token != "::") {
            break;
        }
        *at += 1;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    // A new name of an imported item.
    if tokens.get(*at).is_some_and(|token| token == "as") {
        name.clone_from(&tokens[*at + 1]);
        *at += 2;
    }
    found.push((name, path));
}

fn is_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Returns the words and the punctuation of Rust text.
fn tokens(text: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' | 'b' if is_raw(rest) => raw(rest),
            '"' => quoted(rest),
            '\'' => character(rest),
            ':' if rest.starts_with("::") => {
                found.push("::".to_owned());
                2
            }
            _ if word > 0 => {
                found.push(rest[..word].to_owned());
                word
            }
            _ => {
                found.extend((!first.is_whitespace()).then(|| first.to_string()));
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    found
}

/// Returns whether a raw string begins here, such as `r#"…"#` or `br"…"`.
fn is_raw(rest: &str) -> bool {
    let after = rest.trim_start_matches('b');
    after.strip_prefix('r').is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
}

fn raw(rest: &str) -> usize {
    let open = rest.find('"').expect("a raw string has a quote");
    let end = format!("\"{}", "#".repeat(rest[..open].matches('#').count()));
    rest[open + 1..].find(&end).map_or(rest.len(), |place| open + 1 + place + end.len())
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, letter)| {
        let is_end = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        is_end
    });
    end.map_or(rest.len(), |(place, _)| place + 1)
}

/// Returns the length of a character, or of the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| end + 4),
        Some(_) => letters.next().filter(|(_, letter)| *letter == '\'').map_or(1, |(end, _)| end + 1),
        None => 1,
    }
}
