//! Only some of the mutexes are exchanged: those that are named, and those that a search finds.

use super::{row, stderr};
use crate::programs::{Programs, command as trace, traced};

/// The program sees in a mutex's bytes whether it was exchanged.
#[test]
fn only_the_mutexes_that_are_named_are_exchanged() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("ten", &[]) else { return };
    let cases = [
        (&["first_hot"][..], 1.5, 1.0),
        (&["first_hot,cold+0x28"], 1.5, 2.0),
        (&["cold"], 1.0, 9.0),
        (&["rank:1-2"], 2.0, 1.0),
        (&[], 2.0, 9.0),
    ];
    for (only, rate, others) in cases {
        let flags = ["--swap", "adaptive", "--metric", r"rate=rate (\d+)", "--metric", r"others=others (\d+)"];
        let only: Vec<&str> = only.iter().flat_map(|only| ["--swap-only", only]).collect();
        let flags = [&flags[..], &only, &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
        let traced = traced(&programs, &flags, &program, &[]);
        assert!(traced.output.status.success(), "{}", stderr(&traced.output));
        assert_eq!(row(&traced, "adaptive", "rate")["ratio"].as_f64(), Some(rate), "{only:?}");
        assert_eq!(row(&traced, "adaptive", "others")["ratio"].as_f64(), Some(others), "{only:?}");
        assert_eq!(row(&traced, "pass", "rate")["ratio"].as_f64(), Some(1.0), "{only:?}");
    }
}

/// Selects mutexes outside variables by the function that makes them, or is the first to acquire them.
#[test]
fn mutexes_on_the_heap_are_exchanged_by_a_function() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("heap", &[]) else { return };
    let cases = [("makes()", 2.0), ("takes()", 3.0), ("makes(),waits()", 6.0), ("rank:1", 5.0), ("main()", 1.0)];
    for (only, exchanged) in cases {
        let flags = ["--swap", "adaptive", "--metric", r"exchanged=exchanged (\d+)", "--swap-only", only];
        let flags = [&flags[..], &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
        let traced = traced(&programs, &flags, &program, &[]);
        assert!(traced.output.status.success(), "{}", stderr(&traced.output));
        assert_eq!(row(&traced, "adaptive", "exchanged")["ratio"].as_f64(), Some(exchanged), "{only}");
        let is_said =
            traced.record["warnings"].as_array().unwrap().iter().any(|one| one["code"] == "nothing_exchanged");
        assert_eq!(is_said, only == "main()", "{only}");
    }
    // Without symbols it is the place of the call.
    let Some(bare) = programs.compiled("heap", &["-s"]) else { return };
    let flags = ["--swap", "adaptive", "--metric", r"exchanged=exchanged (\d+)", "--swap-only", "rank:1"];
    let flags = [&flags[..], &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
    let traced = traced(&programs, &flags, &bare, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    assert_eq!(row(&traced, "adaptive", "exchanged")["ratio"].as_f64(), Some(5.0));
    let output = trace(&["--swap", "adaptive", "--swap-only", "nonesuch()"], &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("has no function of this name"), "{}", stderr(&output));
}

/// Searches a program in which two of ten mutexes matter.
#[test]
fn search_finds_the_mutexes_that_matter_and_their_flags() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("ten", &[]) else { return };
    let flags = ["--swap", "adaptive", "--search", "--metric", r"rate=rate (\d+)", "--higher-is-better"];
    let flags = [&flags[..], &["--runs", "6", "--warmup", "0", "--quiet"]].concat();
    let traced = traced(&programs, &flags, &program, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let parameters = &traced.record["parameters"];
    let found = parameters["search_flags"].as_str().unwrap();
    assert!(found.starts_with("--swap adaptive --swap-only "), "{found}");
    let mut names: Vec<&str> = found.rsplit(' ').next().unwrap().split(',').collect();
    names.sort_unstable();
    assert_eq!(names, ["first_hot", "second_hot"]);
    assert_eq!(row(&traced, "adaptive", "rate")["ratio"].as_f64(), Some(2.0));
    let first = parameters["search"].as_array().unwrap().iter().filter(|arm| arm["stage"] == 1).count();
    assert_eq!(first, 10);
}
