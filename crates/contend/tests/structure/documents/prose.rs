//! The wording of the project is plain technical English, and does not get worse.
//!
//! `prose.toml` holds the rules: a pattern that marks an idiom, and its replacement. It also holds, for each rule, the
//! number of matches that remain in each scope. That number is a ceiling: a test fails where it rises, and
//! `CONTEND_RENEW=1 cargo test -p contend --test structure documents` lowers it after a file was rewritten. It never
//! raises one. Strings that a user sees, `README.md`, every `--help` and every man page have no ceiling: a match there
//! is a failure.
//!
//! Three properties that no pattern finds have a ceiling over the whole repository. They are test names over 60
//! characters, item summaries that begin with What, Of, As, By or So, and the percentage of long sentences in Markdown.

use super::{documents, root};
use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

/// One idiom of `prose.toml`.
struct Rule {
    id: String,
    pattern: Regex,
    /// A pattern of matches that do not count: the `regex` crate has no look-around.
    unless: Option<Regex>,
    instead: String,
    ceiling: BTreeMap<&'static str, usize>,
}

/// One line of prose: its file, its line number, its scope and its words.
struct Line {
    file: PathBuf,
    number: usize,
    scope: &'static str,
    text: String,
}

/// The scopes with a ceiling.
const SCOPES: [&str; 3] = ["md", "doc", "comment"];

fn rules_file() -> PathBuf {
    root().join("crates/contend/tests/documents/prose.toml")
}

fn rules() -> Vec<Rule> {
    let text = fs::read_to_string(rules_file()).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let rule = |rule: &toml::Value| {
        let string = |key: &str| rule.get(key).map(|value| value.as_str().unwrap().to_owned());
        let ceiling = |scope| rule["ceiling"].get(scope).map_or(0, |count| count.as_integer().unwrap() as usize);
        Rule {
            id: string("id").unwrap(),
            pattern: Regex::new(&string("pattern").unwrap()).unwrap(),
            unless: string("unless").map(|unless| Regex::new(&unless).unwrap()),
            instead: string("instead").unwrap(),
            ceiling: SCOPES.iter().map(|&scope| (scope, ceiling(scope))).collect(),
        }
    };
    table["rule"].as_array().unwrap().iter().map(rule).collect()
}

impl Rule {
    fn matches(&self, text: &str) -> usize {
        let is_one = |found: &regex::Match| !self.unless.as_ref().is_some_and(|unless| unless.is_match(found.as_str()));
        self.pattern.find_iter(text).filter(is_one).count()
    }
}

/// Replaces the code spans of a line, whose words are names.
fn without_code(text: &str) -> String {
    let mut kept = String::new();
    for (index, piece) in text.split('`').enumerate() {
        kept.push_str(if index % 2 == 0 { piece } else { "`x`" });
    }
    kept
}

/// Returns the prose of a Markdown page: no code blocks, no comments.
fn lines_of_markdown(file: &Path) -> Vec<Line> {
    let (mut is_code, mut is_comment, mut lines) = (false, false, Vec::new());
    for (index, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
        let text = line.trim();
        if text.starts_with("```") {
            is_code = !is_code;
        } else if is_comment || text.starts_with("<!--") {
            is_comment = !text.contains("-->");
        } else if !is_code && !line.starts_with("    ") {
            lines.push(Line { file: file.into(), number: index + 1, scope: "md", text: without_code(text) });
        }
    }
    lines
}

/// Returns the prose of a Rust file: documentation outside its examples, comments, and string literals of several
/// words.
fn lines_of_rust(file: &Path) -> Vec<Line> {
    let source = fs::read_to_string(file).unwrap();
    let is_test = file.strip_prefix(root()).unwrap_or(file).components().any(|part| part.as_os_str() == "tests")
        || file.ends_with("tests.rs");
    let character = Regex::new(r"^'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\'])'").unwrap();
    let (mut is_example, mut lines) = (false, Vec::new());
    let (mut rest, mut number) = (source.as_str(), 1);
    // True while only white space of this line was read, so that a comment here is alone on its line.
    let mut is_line_start = true;
    while let Some(letter) = rest.chars().next() {
        let mut push = |scope, text: String| lines.push(Line { file: file.into(), number, scope, text });
        let taken = if rest.starts_with("//") {
            let line = rest.lines().next().unwrap();
            let words = line.trim_start_matches("//");
            match words.strip_prefix(['/', '!']).map(|words| words.strip_prefix(' ').unwrap_or(words)) {
                Some(words) if words.trim().starts_with("```") => is_example = !is_example,
                Some(words) if !is_example => push("doc", without_code(words.trim())),
                Some(_) => {}
                None if is_line_start => push("comment", words.trim().to_owned()),
                None => {}
            }
            line.len()
        } else if let Some((length, words)) = string_literal(rest) {
            if !is_test && words.contains(' ') {
                push("str", words);
            }
            length
        } else if letter == '\'' {
            // A character, or a lifetime.
            character.find(rest).map_or(1, |found| found.len())
        } else {
            letter.len_utf8()
        };
        let read = &rest[..taken];
        is_line_start = letter == '\n' || (is_line_start && read.trim().is_empty());
        is_example &= letter.is_whitespace() || read.starts_with("//");
        number += read.matches('\n').count();
        rest = &rest[taken..];
    }
    lines
}

/// Returns the length and the words of the string literal at the beginning of the source.
///
/// A line that continues after a backslash is one line.
fn string_literal(source: &str) -> Option<(usize, String)> {
    if let Some(raw) = source.strip_prefix("r").filter(|raw| raw.starts_with(['"', '#'])) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let length = inner.find(&close)?;
        return Some((1 + hashes + 1 + length + close.len(), inner[..length].to_owned()));
    }
    let mut letters = source.strip_prefix('"')?.char_indices();
    let mut words = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((at + 2, words)),
            '\\' => match letters.next()?.1 {
                '\n' => {
                    let indent = letters.as_str().len() - letters.as_str().trim_start().len();
                    letters.by_ref().take(indent).for_each(|_| {});
                }
                'n' => words.push('\n'),
                escaped => words.extend(['\\', escaped]),
            },
            letter => words.push(letter),
        }
    }
    None
}

fn rust_files() -> Vec<PathBuf> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                collect(&path, found);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), &mut found);
    found
}

/// Returns all prose of the project.
///
/// A page of the book that is a link to a page of `docs` is read once, and the changelog, which describes the past, is
/// skipped.
fn prose() -> Vec<Line> {
    let is_read = |file: &PathBuf| {
        !file.is_symlink() && !file.ends_with("CHANGELOG.md") && !file.iter().any(|part| part == "records")
    };
    let pages = documents().into_iter().filter(is_read).flat_map(|page| lines_of_markdown(&page));
    pages.chain(rust_files().into_iter().filter(is_read).flat_map(|file| lines_of_rust(&file))).collect()
}

/// Returns the message about a line that a rule matches.
fn found(rule: &Rule, line: &Line) -> String {
    let file = line.file.strip_prefix(root()).unwrap_or(&line.file).display();
    format!("{file}:{}: {} -> {}: {}", line.number, rule.id, rule.instead, line.text)
}

/// Replaces parts of the rules file, if `CONTEND_RENEW` is set.
///
/// Several tests may do so at the same time.
fn renew(replacements: &[(String, String)]) {
    static FILE: Mutex<()> = Mutex::new(());
    if replacements.is_empty() || env::var_os("CONTEND_RENEW").is_none() {
        return;
    }
    let _only = FILE.lock().unwrap();
    let mut text = fs::read_to_string(rules_file()).unwrap();
    for (old, new) in replacements {
        text = text.replace(old, new);
    }
    fs::write(rules_file(), text).unwrap();
}

#[test]
fn idioms_do_not_increase() {
    let prose = prose();
    assert!(prose.len() > 10_000, "only {} lines of prose were found", prose.len());
    let (mut risen, mut lowered) = (Vec::new(), Vec::new());
    for rule in rules() {
        let mut ceiling = rule.ceiling.clone();
        for scope in SCOPES {
            let matching: Vec<&Line> =
                prose.iter().filter(|line| line.scope == scope && rule.matches(&line.text) > 0).collect();
            let count = matching.iter().map(|line| rule.matches(&line.text)).sum::<usize>();
            if count > rule.ceiling[scope] {
                let all = matching.iter().map(|line| found(&rule, line)).collect::<Vec<_>>().join("\n");
                risen.push(format!("{}, {scope}: {count}, at most {}\n{all}", rule.id, rule.ceiling[scope]));
            }
            ceiling.insert(scope, count.min(rule.ceiling[scope]));
        }
        let line = |ceiling: &BTreeMap<&str, usize>| {
            let counts: Vec<String> = SCOPES.iter().map(|scope| format!("{scope} = {}", ceiling[scope])).collect();
            format!("id = \"{}\"\nceiling = {{ {} }}\n", rule.id, counts.join(", "))
        };
        if ceiling != rule.ceiling {
            lowered.push((line(&rule.ceiling), line(&ceiling)));
        }
    }
    renew(&lowered);
    assert!(risen.is_empty(), "{}", risen.join("\n\n"));
}

/// A property of the prose that no pattern over a line finds, with the places that have it.
struct Count {
    id: &'static str,
    value: f64,
    places: Vec<String>,
}

/// Returns the place of a line in a file of the project.
fn place(file: &Path, number: usize, text: &str) -> String {
    format!("{}:{number}: {text}", file.strip_prefix(root()).unwrap_or(file).display())
}

/// Returns the test names of more than 60 characters.
fn long_test_names(files: &[PathBuf]) -> Count {
    let test = Regex::new(r"#\[test\]\s*(?:#\[[^\]]*\]\s*|//[^\n]*\s*)*(?:async )?fn (\w+)").unwrap();
    let mut places = Vec::new();
    for file in files {
        let source = fs::read_to_string(file).unwrap();
        for name in test.captures_iter(&source).map(|found| found.get(1).unwrap()).filter(|name| name.len() > 60) {
            places.push(place(file, source[..name.start()].lines().count(), name.as_str()));
        }
    }
    Count { id: "long-test-name", value: places.len() as f64, places }
}

/// Returns the items and modules whose documentation begins with a word that is neither a verb nor a noun.
fn headless_summaries(files: &[PathBuf]) -> Count {
    let headless = Regex::new(r"^//[/!] ?(?:What|Of|As|By|So)\b").unwrap();
    let mut places = Vec::new();
    for file in files {
        let source = fs::read_to_string(file).unwrap();
        let mut before = "";
        for (index, line) in source.lines().map(str::trim).enumerate() {
            if headless.is_match(line) && !before.starts_with(&line[..3]) {
                places.push(place(file, index + 1, line));
            }
            before = line;
        }
    }
    Count { id: "headless-summary", value: places.len() as f64, places }
}

/// Returns the sentences of Markdown pages that have more than 30 words, in per cent of all.
///
/// A line is a sentence, or several; headings and tables have none.
fn long_sentences(prose: &[Line]) -> Count {
    let end = Regex::new(r#"[.?!][)"”]* "#).unwrap();
    let (mut all, mut places) = (0_usize, Vec::new());
    let is_text = |line: &&Line| line.scope == "md" && !line.text.starts_with(['#', '|']);
    for line in prose.iter().filter(is_text) {
        for sentence in end.split(&line.text) {
            let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            all += usize::from(words > 0);
            if words > 30 {
                places.push(place(&line.file, line.number, sentence));
            }
        }
    }
    assert!(all > 1_000, "only {all} sentences were found");
    // Rounded up, so that the ceiling is not below the value that it was made from.
    let value = (places.len() as f64 / all as f64 * 1e3).ceil() / 10.0;
    Count { id: "long-sentence-percent", value, places }
}

#[test]
fn counts_do_not_increase() {
    let table: toml::Table = fs::read_to_string(rules_file()).unwrap().parse().unwrap();
    // The book has links to examples and tests.
    let files: Vec<PathBuf> = rust_files().into_iter().filter(|file| !file.is_symlink()).collect();
    let (mut risen, mut lowered) = (Vec::new(), Vec::new());
    for Count { id, value, places } in [long_test_names(&files), headless_summaries(&files), long_sentences(&prose())] {
        let ceilings = table["count"].as_array().unwrap();
        let count = ceilings.iter().find(|count| count["id"].as_str() == Some(id)).unwrap();
        let (ceiling, instead) = (count["ceiling"].as_float().unwrap(), count["instead"].as_str().unwrap());
        let line = |ceiling: f64| format!("id = \"{id}\"\nceiling = {ceiling:?}\n");
        if value > ceiling {
            risen.push(format!("{id}: {value}, at most {ceiling} -> {instead}\n{}", places.join("\n")));
        } else if value < ceiling {
            lowered.push((line(ceiling), line(value)));
        }
    }
    renew(&lowered);
    assert!(risen.is_empty(), "{}", risen.join("\n\n"));
}

#[test]
fn counts_find_planted_places() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.rs");
    let long = "a".repeat(61);
    let source = format!(
        "/// What it is.\n/// As before.\nfn f() {{}}\n\n/// A name.\n#[test]\n#[ignore]\nfn {long}() {{}}\n\n\
         #[test]\nfn short() {{}}\n"
    );
    fs::write(&file, source).unwrap();
    let files = [file];
    assert!(long_test_names(&files).places[0].ends_with(&format!("x.rs:8: {long}")));
    assert_eq!(long_test_names(&files).value, 1.0);
    assert!(headless_summaries(&files).places[0].ends_with("x.rs:1: /// What it is."));
    assert_eq!(headless_summaries(&files).value, 1.0);
    let line = |text: String| Line { file: files[0].clone(), number: 1, scope: "md", text };
    let prose: Vec<Line> = (0..999).map(|_| line("One. Two?".into())).chain([line("word ".repeat(31))]).collect();
    assert_eq!(long_sentences(&prose).places.len(), 1);
    assert_eq!(long_sentences(&prose).value, 0.1);
}

/// Fails with each line that a rule matches.
fn assert_plain(lines: &[Line]) {
    let rules = rules();
    let matching: Vec<String> = lines
        .iter()
        .flat_map(|line| rules.iter().filter(|rule| rule.matches(&line.text) > 0).map(move |rule| found(rule, line)))
        .collect();
    assert!(matching.is_empty(), "{}", matching.join("\n"));
}

#[test]
fn strings_have_no_idiom() {
    let strings: Vec<Line> = prose().into_iter().filter(|line| line.scope == "str").collect();
    assert!(strings.len() > 1_000, "only {} strings were found", strings.len());
    assert_plain(&strings);
}

#[test]
fn the_readme_has_no_idiom() {
    assert_plain(&lines_of_markdown(&root().join("README.md")));
}

fn contend(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    // The width of a help on a wide terminal is limited, too.
    let output = command.args(arguments).env("CONTEND_ARCHIVE", "").env("COLUMNS", "300").output().unwrap();
    assert!(output.status.success(), "contend {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the man page of each command, by its file name.
fn man_pages() -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    contend(&["man", folder.path().to_str().unwrap()]);
    let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let pages: Vec<(String, String)> = files
        .map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&file).unwrap()))
        .collect();
    assert!(pages.len() > 15, "only {} man pages", pages.len());
    pages
}

/// Returns the help of each command, and that of the common options, by the call that prints it.
///
/// `contend serve` and `contend fetch` print that of their program, if it was built.
fn helps() -> Vec<(String, String)> {
    let call = |(name, _): (String, String)| name.trim_end_matches(".1").replace('-', " ") + " --help";
    let calls = man_pages().into_iter().map(call).chain(["contend help common".to_owned()]);
    calls
        .map(|call| {
            let arguments: Vec<&str> = call.split(' ').skip(1).collect();
            let help = contend(&arguments);
            (call, help)
        })
        .collect()
}

/// The files with the help of programs that are built separately: the documentation of their flags, and their examples.
const COMPANIONS: [&str; 6] = [
    "crates/remote/src/program.rs",
    "crates/remote/src/serve/flags.rs",
    "crates/remote/src/serve/mod.rs",
    "crates/remote/src/fetch/flags.rs",
    "crates/remote/src/fetch/mod.rs",
    "crates/lockstep/src/flags.rs",
];

#[test]
fn help_and_man_pages_have_no_idiom() {
    // A flag keeps its name.
    let flag = Regex::new("--[a-z-]+").unwrap();
    let texts = helps().into_iter().chain(man_pages());
    let lines = texts.flat_map(|(name, text)| {
        let line = |(index, text): (usize, &str)| Line {
            file: PathBuf::from(&name),
            number: index + 1,
            scope: "str",
            text: flag.replace_all(&text.trim().replace("\\-", "-"), "--x").into_owned(),
        };
        text.lines().enumerate().map(line).collect::<Vec<Line>>()
    });
    assert_plain(&lines.collect::<Vec<Line>>());
}

#[test]
fn help_of_companions_has_no_idiom() {
    let is_help = |line: &Line| line.scope == "str" || (line.scope == "doc" && line.file.ends_with("flags.rs"));
    let lines = COMPANIONS.iter().flat_map(|file| lines_of_rust(&root().join(file))).filter(is_help);
    assert_plain(&lines.collect::<Vec<Line>>());
}

#[test]
fn help_lines_fit_in_100_columns_and_first_lines_in_80() {
    let mut long = Vec::new();
    for (call, help) in helps() {
        let first = help.lines().next().unwrap();
        let too_long = |line: &&str| line.chars().count() > if *line == first { 80 } else { 100 };
        long.extend(help.lines().filter(too_long).map(|line| format!("{call}: {line}")));
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn common_options_are_described_once() {
    for (call, help) in helps() {
        let is_whole = ["contend --help", "contend help common"].contains(&call.as_str());
        assert_eq!(help.contains("      --seconds <TIME>"), is_whole, "{call}");
        assert_eq!(
            help.contains("`contend help common`.\n") && !is_whole,
            help.contains("\nCommon options: "),
            "{call}"
        );
    }
    let described = man_pages().into_iter().filter(|(_, page)| page.contains("Time budget of the whole run"));
    assert_eq!(described.map(|(name, _)| name).collect::<Vec<String>>(), ["contend.1"]);
}

#[test]
fn literals_and_comments_are_found_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.rs");
    let source = "/// Doc `told`.\n/// ```\n/// not this\n/// ```\nfn f<'a>() {\n    // A comment.\n    let _ = ('\"', \
                  \"one \\\"two\\\" \\\n        three\", r#\"four \"five\"#, \"six\"); // trailing\n}\n";
    fs::write(&file, source).unwrap();
    let lines: Vec<(usize, &str, String)> =
        lines_of_rust(&file).into_iter().map(|line| (line.number, line.scope, line.text)).collect();
    let expected = [
        (1, "doc", "Doc `x`."),
        (6, "comment", "A comment."),
        (7, "str", "one \\\"two\\\" three"),
        (8, "str", "four \"five"),
    ];
    assert_eq!(lines, expected.map(|(number, scope, text)| (number, scope, text.to_owned())));
}
