//! Ranks that were not started alike are detected, and the message names the rank and the difference.

use lockstep::greeting::{Greeting, build, obstacle};

fn text(version: &str, build: u64, flags: &str, problem: Option<&str>) -> String {
    let (version, flags, problem) = (version.to_owned(), flags.to_owned(), problem.map(str::to_owned));
    serde_json::to_string(&Greeting { version, build, flags, problem }).unwrap()
}

fn said(texts: &[String]) -> String {
    obstacle(texts).unwrap_or_default()
}

#[test]
fn ranks_that_are_alike_go_on() {
    assert_eq!(said(&[text("1", 7, "--step 1ms", None), text("1", 7, "--step 1ms", None)]), "");
}

#[test]
fn whoever_differs_is_named_with_what_differs() {
    let first = || text("1", 7, "--step 1ms", None);
    let others = [
        (text("1", 7, "--step 2ms", None), "rank 1 was called with `--step 2ms`, and rank 0 with `--step 1ms`"),
        (text("2", 8, "--step 1ms", None), "rank 1 is lockstep 2, and rank 0 is lockstep 1"),
        (text("1", 8, "--step 1ms", None), "rank 1 is another build of lockstep than rank 0"),
        ("hello".to_owned(), "rank 1 runs another version of lockstep"),
        (text("1", 7, "", Some("no such flag")), "rank 1: no such flag"),
    ];
    for (other, wanted) in others {
        let said = said(&[first(), other]);
        assert!(said.starts_with(wanted), "{said}");
    }
}

#[test]
fn what_is_wrong_with_all_is_said_of_none_in_particular() {
    let wrong = || text("1", 7, "", Some("no such flag"));
    assert_eq!(said(&[wrong(), wrong()]), "no such flag");
}

#[test]
fn a_program_is_itself() {
    assert_eq!(build().unwrap(), build().unwrap());
}
