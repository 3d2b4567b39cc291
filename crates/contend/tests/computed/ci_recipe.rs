//! The recipes for CI, run as a CI runs them: on clones of a bare repository, with the binary under test.

use crate::command::archive::has_git;
use crate::command::executable;
use crate::command::forge::{Forge, all_of, assert_ends, recipes};
use std::process::Command;

/// The quickest command, which computes; a longer frame is interrupted more often.
const QUICK: &str = "model frames --frame 1ms --quantum 1ms";
const SLOW: &str = "model frames --frame 2ms --quantum 1ms";

#[test]
fn ci_with_a_branch_baseline_passes_same_and_fails_slower() {
    if !has_git() {
        return;
    }
    let forge = Forge::new();
    let variables =
        |measure| [("CONTEND_CI_MEASURE", measure), ("CONTEND_CI_RUNS", "2"), ("CONTEND_CI_LIMIT", "differs:5%")];
    let none_yet = forge.recipe("main", "check", &variables(QUICK));
    assert_ends(&none_yet, 0);
    assert!(all_of(&none_yet).contains("no baseline yet"), "{}", all_of(&none_yet));
    // Twice: the second replaces the first, and the branch does not grow.
    assert_ends(&forge.recipe("main", "save", &variables(QUICK)), 0);
    assert_ends(&forge.recipe("main", "save", &variables(QUICK)), 0);
    let mut count = Command::new("git");
    count.arg("--git-dir").arg(forge.path("origin.git")).args(["rev-list", "--count", "contend-baseline"]);
    assert_eq!(count.output().unwrap().stdout, b"1\n");

    forge.clone("change");
    let same = forge.recipe("change", "check", &variables(QUICK));
    assert_ends(&same, 0);
    let summary = std::fs::read_to_string(forge.path("change/contend-summary.md")).unwrap();
    assert!(summary.starts_with("### contend: no limit is exceeded") && summary.contains("| --- |"), "{summary}");
    let slower = forge.recipe("change", "check", &variables(SLOW));
    assert_ends(&slower, 3);
    let summary = std::fs::read_to_string(forge.path("change/contend-summary.md")).unwrap();
    assert!(summary.contains("**a limit is exceeded**") && summary.contains("| differs |"), "{summary}");
    // The request has another frame, and the output shows it.
    assert!(summary.contains("frame") && summary.contains("of machine, program and options"), "{summary}");
}

#[test]
fn ci_with_a_file_baseline_works_as_an_artifact() {
    if !has_git() {
        return;
    }
    let forge = Forge::new();
    let store = format!("file:{}", forge.path("a folder.bundle").display());
    let variables = [
        ("CONTEND_CI_MEASURE", QUICK),
        ("CONTEND_CI_RUNS", "1"),
        ("CONTEND_CI_STORE", store.as_str()),
        ("CONTEND_CI_LIMIT", "differs:5%"),
    ];
    assert!(all_of(&forge.recipe("main", "check", &variables)).contains("no baseline yet"));
    assert_ends(&forge.recipe("main", "save", &variables), 0);
    assert_ends(&forge.recipe("main", "check", &variables), 0);
    // A limit by which no value can be judged passes nothing, and the summary says so.
    let slower = [variables[0], variables[1], variables[2], ("CONTEND_CI_LIMIT", "slower:5%")];
    assert_ends(&forge.recipe("main", "check", &slower), 4);
    let summary = std::fs::read_to_string(forge.path("main/contend-summary.md")).unwrap();
    assert!(summary.starts_with("### contend: **no value could have shown such a change**"), "{summary}");
    // Without a store, a measurement or a remote it fails.
    assert_ends(&forge.recipe("main", "save", &[("CONTEND_CI_MEASURE", QUICK), ("CONTEND_CI_STORE", "x")]), 2);
    assert_ends(&forge.recipe("main", "check", &[("CONTEND_CI_MEASURE", "nonsense"), variables[2]]), 2);
    forge.git("main", &["remote", "set-url", "origin", "/nowhere"]);
    assert!(!forge.recipe("main", "check", &variables[..2]).status.success());
}

/// Returns the script of the action: the text below `run: |`, as far as it is indented.
fn script_of_the_action() -> String {
    let action = std::fs::read_to_string(recipes().join("github/action.yml")).unwrap();
    let lines: Vec<&str> = action.lines().skip_while(|line| line.trim() != "run: |").skip(1).collect();
    assert!(lines.len() > 5 && lines.iter().all(|line| line.starts_with("        ")), "{action}");
    lines.iter().map(|line| format!("{}\n", &line[8..])).collect()
}

/// Returns every variable of the step, with each input's default, as the runner would set them.
#[test]
fn action_shows_its_summary_in_the_run_and_as_a_comment() {
    if !has_git() {
        return;
    }
    let forge = Forge::new();
    let log = forge.path("gh.txt");
    let gh = forge.path("gh");
    executable(&gh, "#!/bin/sh\nfor word; do last=$word; done\necho \"$@\" >$SAID\ncat \"$last\" >>$SAID\n");
    let path = format!("{}:{}", forge.path("").display(), std::env::var("PATH").unwrap());
    let step = |mode: &str, measure: &str| {
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script_of_the_action()]);
        bash.current_dir(forge.path("main")).env("PATH", &path).env("SAID", &log);
        bash.env("GITHUB_ACTION_PATH", recipes().join("github")).env("GITHUB_STEP_SUMMARY", forge.path("step.md"));
        bash.env("CONTEND_CI_SUMMARY", forge.path("summary.md")).env("CONTEND_CI_RUNS", "2").env("COMMENT", "true");
        bash.env("CONTEND", env!("CARGO_BIN_EXE_contend")).env("CONTEND_CI_LIMIT", "differs:5%");
        bash.env("MODE", mode).env("CONTEND_CI_MEASURE", measure).env("PULL_REQUEST", "7").output().unwrap()
    };
    assert_ends(&step("save", QUICK), 0);
    assert!(!log.exists());
    assert_ends(&step("check", SLOW), 3);
    let (shown, commented) =
        (std::fs::read_to_string(forge.path("step.md")).unwrap(), std::fs::read_to_string(&log).unwrap());
    assert!(shown.contains("a limit is exceeded") && commented.starts_with("pr comment 7 "), "{shown}{commented}");
    assert!(commented.ends_with(&shown), "{commented}");
}

/// The step sets exactly the variables that the script reads, and every input is used.
#[test]
fn every_input_of_the_action_reaches_the_script() {
    let action = std::fs::read_to_string(recipes().join("github/action.yml")).unwrap();
    let script = std::fs::read_to_string(recipes().join("contend-ci")).unwrap();
    let inputs = action.lines().skip_while(|line| *line != "inputs:").skip(1).take_while(|line| line.starts_with(' '));
    let inputs: Vec<&str> =
        inputs.filter(|line| !line.starts_with("   ")).map(|line| line.trim().trim_end_matches(':')).collect();
    assert!(inputs.len() >= 8, "{inputs:?}");
    for input in inputs {
        assert!(action.contains(&format!("${{{{ inputs.{input} }}}}")), "{input} is in no variable");
    }
    for name in ["CONTEND_CI_MEASURE", "CONTEND_CI_RUNS", "CONTEND_CI_LIMIT", "CONTEND_CI_BASELINE", "CONTEND_CI_STORE"]
    {
        assert!(action.contains(&format!("{name}: ")) && script.contains(&format!("${{{name}:-")), "{name}");
    }
}
