//! Contestants that fail or are missing, and invalid flags.

use super::{quick, row, shell_contestant, with_recipe};
use crate::command::{executable, read};
use std::process::Command;

#[test]
fn failing_contestant_is_reported_and_fails_the_run() {
    let right = "echo $(($2 % $1 + 1))";
    let cases: [Failing; 10] = [
        ("sh-crash", "echo no more chairs >&2; exit 3", "", "crashed", "no more chairs"),
        ("sh-killed", "kill -9 $$", "", "crashed", "signal 9"),
        ("sh-garbage", "echo thread number one", "", "garbage", "thread number one"),
        ("sh-silent", "exit 0", "", "garbage", "is not a thread number"),
        ("sh-wrong", "echo 77", "", "wrong_thread", "the answer is 77"),
        (
            "sh-sometimes-wrong",
            "if [ $2 -gt 9 ]; then echo 5; else echo $(($2 % $1 + 1)); fi",
            "",
            "wrong_thread",
            "the answer is 5",
        ),
        ("sh-hang", "sleep 600", "", "hung", "--timeout"),
        ("sh-closed-and-hangs", "exec >&- 2>&-; sleep 600", "", "hung", "--timeout"),
        ("sh-check-hangs", right, "check = \"/bin/sleep 600\"", "not_built", "--timeout"),
        ("sh-unbuilt", right, "build = \"{tool} no-such-file\"", "not_built", "no-such-file"),
    ];
    // Tests of hanging contestants only wait, so that several fit on a CPU.
    for some in cases.chunks(3) {
        std::thread::scope(|scope| some.iter().for_each(|case| drop(scope.spawn(|| assert_is_reported(case)))));
    }
}

/// A name, a script, more of the recipe, the fault, and a word of the message.
type Failing = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn assert_is_reported(&(name, script, more, fault, word): &Failing) {
    let folder = shell_contestant(name, script, more);
    let contestants = format!("{name},rust-fifo");
    let output = with_recipe(folder.path(), &["--contestant", &contestants, "--timeout", "2s", "--no-memory"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{name}: {stderr}");
    assert!(stderr.contains(name) && stderr.contains(word), "{name}: {stderr}");
    let record = read(&output.stdout);
    let failed = row(&record, name);
    assert!(
        failed["failure"]["fault"] == fault && failed["correct"] == false && failed["ns_per_hop"].is_null(),
        "{failed}"
    );
    assert!(row(&record, "rust-fifo")["correct"] == true, "the others are measured");
}

#[test]
fn absent_contestant_is_listed_with_its_package() {
    let folder = tempfile::tempdir().unwrap();
    // A relative entry of PATH is ignored too, although it has a program of that name.
    let program = folder.path().join("lua5.4");
    executable(&program, "#!/bin/sh\nexit 0\n");
    let nothing_on_the_path = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_contend"))
            .env("CONTEND_ARCHIVE", "")
            .args(arguments)
            .current_dir(folder.path())
            .env("PATH", ".")
            .output()
            .unwrap()
    };
    let list = nothing_on_the_path(&["ring", "--list"]);
    let text = String::from_utf8(list.stdout).unwrap();
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(line("lua-coroutines").ends_with("no") && line("rust-fifo").ends_with("yes"), "{text}");
    assert!(text.lines().any(|line| line == "lua-coroutines needs apt package lua5.4"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let arguments = quick(&["--contestant", "rust-fifo,lua-coroutines", "--large", "0", "--no-memory"]);
    let output = nothing_on_the_path(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("lua-coroutines needs apt package lua5.4"), "{text}");
    let alone = nothing_on_the_path(&quick(&["--contestant", "lua-coroutines"]));
    assert_eq!(alone.status.code(), Some(1));
    assert!(String::from_utf8(alone.stderr).unwrap().contains("--list"));
}
