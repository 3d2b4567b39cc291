//! Several records on one page, compared.

use super::well_formed::assert_well_formed;
use crate::command::archive::{Archive, has_git};
use crate::command::report::{compared, page};
use crate::command::stored::{latency, named};
use serde_json::{Value, json};

#[test]
fn two_records_are_shown_side_by_side_with_intervals() {
    let (mut first, mut second) = (latency(), latency());
    for (record, median, interval) in [(&mut first, 1e5, [0.9e5, 1.1e5]), (&mut second, 1.5e6, [1e6, 2e6])] {
        for row in record["results"].as_array_mut().unwrap() {
            (row["p50_ns"], row["p50_ci_ns"], row["p50_ns_alone"]) = (json!(median), json!(interval), Value::Null);
        }
    }
    second["environment"]["kernel"]["release"] = json!("99.1-other");
    let page = page(&[&first, &second]);
    assert_well_formed(&page);
    let compared = page.split("id=\"side-by-side\"").nth(1).unwrap().split("id=\"record-1\"").next().unwrap();
    for text in ["99.1-other", "kernel.release", "lock, median", "1.00–2.00 ms", "slower", "last/first (95 % CI)"] {
        assert!(compared.contains(text), "{text} is missing in {compared}");
    }
}

#[test]
fn histograms_of_one_cell_are_overlaid() {
    let bins = |lists: &[(f64, f64, u64)]| -> Value {
        lists.iter().map(|(from, to, count)| json!({"from_ns": from, "to_ns": to, "count": count})).collect()
    };
    let (mut first, mut second) = (latency(), latency());
    first["results"][0]["histogram"] = bins(&[(0.0, 10.0, 1), (10.0, 20.0, 98), (1000.0, 1040.0, 1)]);
    // A finer clock: one step of the first record is several bins here.
    second["results"][0]["histogram"] = bins(&[(11.0, 12.0, 1), (12.0, 13.0, 1), (18.0, 19.0, 2)]);
    let whole = page(&[&first, &second]);
    assert_well_formed(&whole);
    let figure = compared(&whole, "std, 1 thread, hold 6.10 µs: histograms overlaid").unwrap();
    for part in
        ["1st: 100 iterations, 2nd: 4 iterations", "98.0 %", "100.0 %", "\"mark\":\"outline\"", "<svg", "1st</text>"]
    {
        assert!(figure.contains(part), "{part} is missing in {figure}");
    }
    assert_eq!(figure.matches("<tr>").count(), 4, "a heading and three columns: {figure}");
    assert!(compared(&page(&[&first]), "histograms overlaid").is_none());
}

#[test]
fn cells_with_different_hold_times_are_not_overlaid() {
    let mut second = latency();
    second["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["hold_us"] = json!(99.0));
    assert!(compared(&page(&[&latency(), &second]), "histograms overlaid").is_none());
}

#[test]
fn different_experiments_share_a_page_and_are_not_compared() {
    let page = page(&[&latency(), &named("model-frames")]);
    assert_well_formed(&page);
    assert!(!page.contains("nothing to compare") && !page.contains("last/first"));
}

/// Returns the titles of the chapters of records.
fn titles(page: &str) -> Vec<&str> {
    let chapters = page.split("<h2 id=\"record-").skip(1);
    chapters.map(|rest| rest.split_once('>').unwrap().1.split(" <a").next().unwrap()).collect()
}

#[test]
fn archived_records_are_titled_by_what_differs() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let mut one = latency();
    one["environment"]["command_line"] = json!(["latency", "--lock", "std", "--output", "a.json"]);
    let mut other = one.clone();
    other["environment"]["command_line"] = json!(["latency", "--lock", "usema", "--format", "json"]);
    let ids = [archive.insert(&one), archive.insert(&one), archive.insert(&other)];
    let page = |ids: &[&String]| {
        let names = ids.iter().map(|id| &id[..10]);
        let output = archive.contend(&["report"].into_iter().chain(names).collect::<Vec<&str>>());
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = page(&[&ids[0], &ids[2]]);
    assert_eq!(titles(&whole), ["contend latency --lock std: latency", "contend latency --lock usema: latency"]);
    let whole = page(&[&ids[0], &ids[1]]);
    let same = titles(&whole);
    assert!(same.iter().all(|title| title.contains(" UTC: latency")) && same[0] != same[1], "{same:?}");
    assert!(ids[..2].iter().all(|id| whole.contains(&format!("; record {}", &id[..10]))));
}
