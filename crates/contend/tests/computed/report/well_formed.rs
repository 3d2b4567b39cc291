//! A page is well-formed: its elements are closed, and its links lead somewhere on it.

use std::collections::HashSet;

/// Returns the tags outside of scripts and styles, without their angle brackets.
fn tags(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        found.push(tag);
        rest = &rest[end + 1..];
        if let Some(raw) = ["script", "style"].iter().find(|raw| tag.split(' ').next() == Some(raw)) {
            rest = &rest[rest.find(&format!("</{raw}>")).expect("it is closed")..];
        }
    }
    found
}

fn attributes<'a>(tags: &[&'a str], name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    tags.iter().filter_map(|tag| tag.split_once(opening.as_str())?.1.split('"').next()).collect()
}

/// Asserts that every element is closed in order, every name is unique, and every link leads to an anchor on the page.
pub fn assert_well_formed(page: &str) {
    let tags = tags(page);
    let mut open: Vec<&str> = Vec::new();
    for tag in tags.iter().filter(|tag| !tag.starts_with('!') && !tag.ends_with('/')) {
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "</{closed}> closes something else"),
            None => {
                let name = tag.split([' ', '\n']).next().unwrap();
                if !["meta", "link", "br", "hr", "input"].contains(&name) {
                    open.push(name);
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    let ids = attributes(&tags, "id");
    let unique: HashSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    for link in attributes(&tags, "href") {
        let leads =
            link.starts_with("data:image/svg+xml,") || link.strip_prefix('#').is_some_and(|id| unique.contains(&id));
        assert!(leads, "{link} leads nowhere");
    }
    assert!(attributes(&tags, "src").is_empty() && !page.contains("url(") && !page.contains("@import"));
}
