//! The command's descriptions of itself: completions and man pages, complete and accepted by their readers.

use crate::command::archive::{Archive, has_git};
use crate::command::contend;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn stdout_of(arguments: &[&str]) -> String {
    let output = contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], status: i32) -> String {
    let output = contend(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {stderr}");
    stderr
}

/// Returns every command as its `--help` names it, with the words that lead to it.
fn commands() -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = stdout_of(&arguments);
        // There may be several lists, each below a heading and ended by an empty line.
        let lists = help.split("\n\n").filter(|part| part.starts_with("Commands"));
        let listed = lists.flat_map(|list| list.lines().skip(1));
        // Second lines are indented further.
        let names = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            open.push(path.iter().cloned().chain([name.to_owned()]).collect());
        }
        all.insert(path);
    }
    assert!(all.len() > 15, "{all:?}");
    all
}

/// Returns a tool's output about a text; `None` if the tool is missing.
fn checked(tool: &str, arguments: &[&str], text: &str) -> Option<Output> {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[test]
fn every_shells_script_has_every_command() {
    let commands = commands();
    for shell in SHELLS {
        let script = stdout_of(&["completions", shell]);
        for name in commands.iter().filter_map(|path| path.last()) {
            assert!(script.contains(name), "{shell} does not know {name}");
        }
    }
}

#[test]
fn the_names_of_locks_are_completed() {
    for shell in ["bash", "fish", "zsh"] {
        assert!(stdout_of(&["completions", shell]).contains("parking_lot-fair"), "{shell}");
    }
}

/// A flag that a command does not accept is in no help, no page and no shell's script.
#[test]
fn help_has_only_the_flags_that_a_command_takes() {
    let place = tempfile::tempdir().unwrap();
    stdout_of(&["man", place.path().to_str().unwrap()]);
    for (command, flag, taken) in [
        ("man", "--seconds", false),
        ("completions", "--quiet", false),
        ("history", "--seed", false),
        ("history verify", "--format", false),
        ("report", "--no-keep", false),
        ("model", "--seconds", false),
        ("model frames", "--seconds", false),
        ("model frames", "--seed", true),
        ("compare", "--archive", true),
        ("latency", "--seconds", true),
    ] {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        assert_eq!(stdout_of(&words).contains(flag), taken, "contend {command} --help: {flag}");
        let page = place.path().join(format!("contend-{}.1", command.replace(' ', "-")));
        let page = fs::read_to_string(page).unwrap().replace("\\-", "-");
        assert_eq!(page.contains(flag), taken, "the page of contend {command}: {flag}");
        let script = stdout_of(&["completions", "bash"]);
        let label = format!("contend__subcmd__{})", command.replace(' ', "__subcmd__"));
        let offered = script.split(&label).nth(1).and_then(|rest| rest.lines().nth(1)).unwrap_or_default();
        assert_eq!(offered.contains(flag), taken, "bash, contend {command}: {flag}: {offered}");
    }
}

/// The examples of experiments are run as printed, and would measure; with --explain they print the method.
#[test]
fn examples_in_help_are_parsed() {
    let mut calls = Vec::new();
    for path in commands() {
        let help = stdout_of(&path.iter().map(String::as_str).chain(["--help"]).collect::<Vec<_>>());
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{path:?} has none"));
        let found: Vec<String> =
            examples.lines().filter_map(|line| line.strip_prefix("  contend ")).map(str::to_owned).collect();
        assert!(found.len() >= 2 || path.is_empty(), "{path:?}: {help}");
        calls.extend(found);
    }
    let explains = |call: &&String| {
        ["clock", "latency", "throughput", "noise", "load", "ring", "model", "survey"]
            .iter()
            .any(|name| call.starts_with(name))
    };
    let measuring: Vec<&String> = calls.iter().filter(explains).collect();
    assert!(measuring.len() > 20, "{calls:?}");
    for call in measuring {
        let words: Vec<&str> = call.split(' ').chain(["--explain"]).collect();
        assert!(stdout_of(&words).contains("# "), "contend {call}");
    }
}

#[test]
fn shells_accept_their_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        match checked(shell, &["-n"], &stdout_of(&["completions", shell])) {
            Some(output) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && stderr.is_empty(), "{shell}: {stderr}");
            }
            None => println!("skipped: needs {shell}"),
        }
    }
}

/// The user's view: what bash offers after `contend hi`.
#[test]
fn bash_completes_a_command_and_a_lock() {
    let script = stdout_of(&["completions", "bash"]);
    let offered = |words: &str, last: usize| {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={last}; \
             _contend contend \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let output = checked("bash", &["--norc"], &ask)?;
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(command) = offered("contend hi", 1) else { return println!("skipped: needs bash") };
    assert_eq!(command.trim(), "history");
    assert_eq!(offered("contend latency --lock bena", 3).unwrap().trim(), "benaphore benaphore-posix");
}

/// Records, baselines, and the items of a list come from contend itself.
#[test]
fn bash_completes_records_lists_and_policies() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    assert!(archive.contend(&["baseline", "save", "mainline", "last"]).status.success());
    let script = stdout_of(&["completions", "bash"]);
    let id = &archive.first()[..10];
    // Words as bash splits them.
    for (words, offered) in [
        ("contend compare las", "last"),
        (&format!("contend history show {}", &id[..4]), id),
        ("contend compare --baseline mai", "mainline"),
        ("contend latency --lock std,parking_lot-", "std,parking_lot-fair"),
        ("contend latency --lock = std,parking_lot-", "std,parking_lot-fair"),
        ("contend noise --wake 1ms --policy dead", "deadline"),
        ("contend noise --wake 1ms --policy fi", "fifo:"),
        ("contend compare --fail-if slow", "slower:5%"),
        ("contend compare --fail-if slower : ", "5%"),
        ("contend noise --scenario quiet,resch", "quiet,rescheduler"),
        ("contend history --experiment mod", "model\\ frames"),
    ] {
        let (last, line) = (words.split(' ').count() - 1, words.replace(" = ", "=").replace(" : ", ":"));
        let ask = format!(
            "{script}\ncontend() {{ \"$BINARY\" \"$@\"; }}; COMP_WORDS=({words}); COMP_CWORD={last}; \
             COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDBREAKS=' =:'; _contend contend \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &ask]).env("BINARY", env!("CARGO_BIN_EXE_contend"));
        let Ok(output) = bash.env("CONTEND_ARCHIVE", &archive.path).output() else {
            return println!("skipped: needs bash");
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), offered, "{words}");
    }
}

/// Returns the pages in a directory by name, each with its text.
fn pages_in(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn every_command_has_a_page() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("share/man/man1");
    stdout_of(&["man", folder.to_str().unwrap()]);
    let pages = pages_in(&folder);
    let names: BTreeSet<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    let wanted = commands().into_iter().map(|path| ["contend".to_owned()].into_iter().chain(path).collect::<Vec<_>>());
    assert_eq!(names, wanted.map(|words| words.join("-") + ".1").collect());
    for (name, text) in &pages {
        for part in [
            "EXIT STATUS",
            "ENVIRONMENT",
            "CONTEND_ARCHIVE",
            "NO_COLOR",
            "XDG_DATA_HOME",
            "FILES",
            "EXAMPLES",
            "SEE ALSO",
        ] {
            assert!(text.contains(part), "{name} lacks {part}");
        }
    }
    assert!(stdout_of(&["man"]) == pages.iter().find(|(name, _)| name == "contend.1").unwrap().1);
}

#[test]
fn groff_reports_no_error_in_the_pages() {
    let place = tempfile::tempdir().unwrap();
    stdout_of(&["man", place.path().to_str().unwrap()]);
    for (name, text) in pages_in(place.path()) {
        let Some(output) = checked("groff", &["-k", "-man", "-Tutf8", "-ww", "-z"], &text) else {
            return println!("skipped: needs groff");
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.is_empty(), "{name}: {stderr}");
    }
}

#[test]
fn only_pages_of_contend_are_replaced() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    stdout_of(&["man", folder]);
    stdout_of(&["man", folder]);
    let count = fs::read_dir(place.path()).unwrap().count();
    fs::write(place.path().join("contend-ring.1"), "mine").unwrap();
    fs::remove_file(place.path().join("contend.1")).unwrap();
    assert!(refused(&["man", folder], 1).contains("not a man page of contend"));
    assert_eq!(fs::read_to_string(place.path().join("contend-ring.1")).unwrap(), "mine");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), count - 1, "none was written, and no draft is left");
}

#[test]
fn unwritable_directory_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("man1");
    assert!(refused(&["man", below.to_str().unwrap()], 1).contains(below.to_str().unwrap()));
    assert!(refused(&["completions", "zsh", "--output", below.to_str().unwrap()], 1).contains("--output"));
}

#[test]
fn invalid_manual_flags_are_refused() {
    assert!(refused(&["completions", "tcsh"], 2).contains("fish"));
    assert!(refused(&["completions", "bash", "--format", "json"], 2).contains("does not take this option"));
    assert!(refused(&["man", "--format", "csv"], 2).contains("does not take this option"));
    assert!(refused(&["man", "./pages", "--output", "page"], 2).contains("--output"));
}
