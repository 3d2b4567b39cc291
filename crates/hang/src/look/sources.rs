//! The `with` statements of Python around a line, as the source has them: an interpreter's lock has no owner.

use std::fs::File;
use std::io::Read;
use std::path::Path;

const LARGEST: u64 = 1 << 20;
const MOST_LINES: usize = 400;

/// Returns the source of a file of a process.
pub fn text(pid: u32, file: &str) -> Option<String> {
    let root = Path::new("/proc").join(pid.to_string());
    let path = match file.strip_prefix('/') {
        Some(absolute) => root.join("root").join(absolute),
        None => root.join("cwd").join(file),
    };
    // A named pipe would wait for a writer.
    std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the objects of the `with` statements around a line, the innermost first, and that of the line itself.
pub fn statements(text: &str, line: usize) -> (Vec<String>, Option<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let Some(own) = line.checked_sub(1).and_then(|place| lines.get(place)) else { return Default::default() };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let acquired = |line: &str| line.trim().strip_suffix(".acquire()").map(str::to_owned);
    let acquires = object(own).or_else(|| acquired(own));
    let (mut within, mut least) = (Vec::new(), indent(own));
    for before in lines[..line - 1].iter().rev().take(MOST_LINES) {
        let text = before.trim();
        if text.is_empty() || text.starts_with('#') || indent(before) >= least {
            continue;
        }
        least = indent(before);
        if text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ") {
            break;
        }
        within.extend(object(before));
    }
    (within, acquires)
}

/// Returns the object of `with OBJECT:`, if the line is such a statement with one object that is a name.
fn object(line: &str) -> Option<String> {
    let object = line.trim().strip_prefix("with ")?.split(" as ").next()?.trim_end_matches(':').trim();
    let is_name = object.chars().all(|letter| letter.is_alphanumeric() || "._[]".contains(letter));
    (is_name && !object.is_empty()).then(|| object.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_statements_around_a_line_are_found_by_their_indentation() {
        let text = "def pay():\n    with accounts:\n        for i in x:\n            f()\n            with journal:\n                pass\n";
        assert_eq!(statements(text, 5), (vec!["accounts".into()], Some("journal".into())));
        assert_eq!(statements(text, 6), (vec!["journal".into(), "accounts".into()], None));
        assert_eq!(statements(text, 99), Default::default());
        assert_eq!(statements("with open(x) as f:\n  f.read()\n", 2), (vec![], None));
    }
}
