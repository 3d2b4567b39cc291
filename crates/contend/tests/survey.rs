//! The main job through its binary, shortened.

mod command;

use command::{contend, record, results};

#[test]
fn the_survey_puts_1998_beside_today() {
    let record = record(&["--seconds", "4"]);
    assert_eq!(record["experiment"], "survey");
    let of = |name: &str| results(&record).iter().filter(|row| row["experiment"] == name).count();
    assert!(of("clock") > 10);
    // Four locks, one and two threads, without and with a competitor, three operations.
    assert_eq!(of("latency"), 4 * (1 + 2) * 2 * 3);
    let figures: Vec<_> = results(&record).iter().filter(|row| row["experiment"] == "then_and_now").collect();
    let semaphore = figures.iter().find(|row| row["figure"] == "semaphore, uncontended lock").unwrap();
    assert_eq!(semaphore["then"], 3_500.0);
    assert!(semaphore["ratio"].as_f64().unwrap() > 1.0, "a Pentium II was not faster: {semaphore}");
}

#[test]
fn it_closes_with_the_table() {
    let output = contend(&["survey", "--seconds", "3", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let table = text.split("1998 and today").nth(1).expect("the closing table");
    assert!(table.contains("semaphore, uncontended lock") && table.contains("3.50 µs"), "{table}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
