//! The recipes for CI, run as a CI runs them: on clones of a bare repository, with the binary under test.

use crate::command::archive::has_git;
use crate::command::executable;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The quickest command, which computes; a longer frame is interrupted more often.
const QUICK: &str = "model frames --frame 1ms --quantum 1ms";
const SLOW: &str = "model frames --frame 2ms --quantum 1ms";

/// A repository, and a clone of it.
struct Forge {
    folder: TempDir,
}

impl Forge {
    fn new() -> Self {
        let forge = Self { folder: tempfile::tempdir().unwrap() };
        let path = |name: &str| forge.path(name).to_str().unwrap().to_owned();
        forge.git(".", &["init", "--bare", "--quiet", &path("origin.git")]);
        forge.clone("main");
        forge.git("main", &["commit", "--quiet", "--allow-empty", "-m", "first"]);
        forge.git("main", &["push", "--quiet", "origin", "HEAD:main"]);
        forge
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn clone(&self, name: &str) {
        self.git(".", &["clone", "--quiet", "origin.git", name]);
    }

    fn git(&self, folder: &str, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.path(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs the recipe in a clone, with these variables.
    fn recipe(&self, clone: &str, mode: &str, variables: &[(&str, &str)]) -> Output {
        let mut recipe = Command::new(recipes().join("contend-ci"));
        recipe.arg(mode).current_dir(self.path(clone)).env("CONTEND", env!("CARGO_BIN_EXE_contend"));
        recipe.envs(variables.iter().copied()).output().unwrap()
    }
}

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/ci")
}

fn all_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn assert_ends(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}", all_of(output));
}

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
    assert!(summary.starts_with("### contend: **nothing could be judged**"), "{summary}");
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

/// A clone in which the base and a change have a program that prints how many operations it made.
fn with_program(forge: &Forge, clone: &str, operations: &str) {
    let program = |forge: &Forge, operations: &str| {
        let text = format!("#!/bin/sh\necho {operations} ops\n");
        std::fs::write(forge.path(clone).join("bench.in"), text).unwrap();
        forge.git(clone, &["add", "bench.in"]);
        forge.git(clone, &["commit", "--quiet", "--allow-empty", "-m", operations]);
    };
    forge.clone(clone);
    forge.git(clone, &["config", "user.email", "a@b"]);
    program(forge, "1000");
    forge.git(clone, &["push", "--quiet", "--force", "origin", "HEAD:main"]);
    program(forge, operations);
}

#[test]
fn base_and_change_in_one_job_fail_only_for_a_regression() {
    if !has_git() {
        return;
    }
    let forge = Forge::new();
    let recipe = |clone: &str, build: &str| {
        let mut recipe = Command::new(recipes().join("contend-ab"));
        recipe.arg("./bench").current_dir(forge.path(clone)).env("CONTEND", env!("CARGO_BIN_EXE_contend"));
        recipe.env("CONTEND_ARCHIVE", "").env("CONTEND_AB_BUILD", build);
        recipe.env("CONTEND_AB_FLAGS", r"--metric 'ops=(\d+) ops' --higher-is-better --runs 8").output().unwrap()
    };
    let summary = |clone: &str| std::fs::read_to_string(forge.path(clone).join("contend-summary.md")).unwrap();
    const BUILD: &str = "cp bench.in bench; chmod +x bench";
    with_program(&forge, "slower", "950");
    assert_ends(&recipe("slower", BUILD), 3);
    assert!(summary("slower").starts_with("### contend ab: **a limit is exceeded**"), "{}", summary("slower"));
    with_program(&forge, "same", "1001");
    assert_ends(&recipe("same", BUILD), 0);
    assert!(summary("same").contains("no limit is exceeded"), "{}", summary("same"));
    with_program(&forge, "broken", "1001");
    assert_ends(&recipe("broken", "echo no compiler; exit 2"), 1);
    assert!(summary("broken").contains("no compiler"), "{}", summary("broken"));
}
