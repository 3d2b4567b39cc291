//! Ranks that were not started alike are detected, and the message names the rank and the difference.

use lockstep::greeting::{Greeting, build, obstacle};

fn text(version: &str, build: u64, flags: &str, problem: Option<&str>) -> String {
    let (version, flags, problem) = (version.to_owned(), flags.to_owned(), problem.map(str::to_owned));
    serde_json::to_string(&Greeting { version, build, flags, problem }).unwrap()
}

fn obstacle_of(texts: &[String]) -> String {
    obstacle(texts).unwrap_or_default()
}

#[test]
fn equal_ranks_have_no_obstacle() {
    assert_eq!(obstacle_of(&[text("1", 7, "--step 1ms", None), text("1", 7, "--step 1ms", None)]), "");
}

#[test]
fn different_rank_is_named_with_the_difference() {
    let first = || text("1", 7, "--step 1ms", None);
    let others = [
        (text("1", 7, "--step 2ms", None), "rank 1 was called with `--step 2ms`, and rank 0 with `--step 1ms`"),
        (text("2", 8, "--step 1ms", None), "rank 1 is lockstep 2, and rank 0 is lockstep 1"),
        (text("1", 8, "--step 1ms", None), "rank 1 is another build of lockstep than rank 0"),
        ("hello".to_owned(), "rank 1 runs another version of lockstep"),
        (text("1", 7, "", Some("no such flag")), "rank 1: no such flag"),
    ];
    for (other, wanted) in others {
        let obstacle = obstacle_of(&[first(), other]);
        assert!(obstacle.starts_with(wanted), "{obstacle}");
    }
}

#[test]
fn problem_of_all_ranks_names_no_single_rank() {
    let wrong = || text("1", 7, "", Some("no such flag"));
    assert_eq!(obstacle_of(&[wrong(), wrong()]), "no such flag");
}

#[test]
fn build_of_a_program_is_constant() {
    assert_eq!(build().unwrap(), build().unwrap());
}
