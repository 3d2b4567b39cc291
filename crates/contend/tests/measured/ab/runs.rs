//! The runs: their order, their surroundings, and their end.

use super::{ab, place, stderr};
use crate::command::watched::Watched;
use crate::command::{heard, read, record, results};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

fn row<'a>(record: &'a Value, metric: &str, side: &str) -> &'a Value {
    let found = results(record).iter().find(|row| row["metric"] == metric && row["side"] == side);
    found.unwrap_or_else(|| panic!("no {metric} of {side}"))
}

#[test]
fn blocks_have_each_side_once_in_random_order() {
    let record = record(&["ab", "true", "true 2", "true 3", "--runs", "12", "--seed", "1", "--quiet"]);
    let runs = record["parameters"]["runs"].as_array().unwrap();
    let sides: Vec<u64> = runs.iter().map(|run| run["side"].as_u64().unwrap()).collect();
    let blocks: Vec<&[u64]> = sides.chunks(3).collect();
    assert_eq!(blocks.len(), 12);
    for (number, block) in blocks.iter().enumerate() {
        assert_eq!(block.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]), "{number}");
    }
    assert!(blocks.iter().collect::<BTreeSet<_>>().len() > 2, "{blocks:?}");
    assert_eq!(record["parameters"]["ended_by"], "runs");
    assert_eq!(record["parameters"]["looks"].as_array().unwrap().len(), 1);
}

#[test]
fn rows_have_the_documented_fields() {
    let record = record(&["ab", "true", "true 2", "--runs", "8", "--quiet"]);
    let wall = row(&record, "wall_s", "true 2");
    assert_eq!(
        (&wall["runs"], &wall["compared_with"], &wall["is_decisive"]),
        (&8.into(), &"true".into(), &true.into())
    );
    assert!(wall["ratio"].as_f64().is_some() && wall["power"].as_f64().is_some_and(|power| power > 0.0));
    let ends: Vec<f64> = wall["ratio_ci"].as_array().unwrap().iter().map(|end| end.as_f64().unwrap()).collect();
    assert!(ends[0] <= wall["ratio"].as_f64().unwrap() && wall["ratio"].as_f64().unwrap() <= ends[1], "{ends:?}");
    let verdicts = ["faster", "slower", "no_difference_shown", "not_judged", "less_than_least"];
    assert!(verdicts.iter().any(|verdict| wall["verdict"] == *verdict), "{}", wall["verdict"]);
    let base = row(&record, "wall_s", "true");
    assert!(base["ratio"].is_null() && base["verdict"].is_null() && base["median"].as_f64().is_some());
    for metric in ["cpu_s", "memory_kib", "user_s", "system_s", "context_switches", "page_faults"] {
        assert_eq!(row(&record, metric, "true")["values"].as_array().unwrap().len(), 8, "{metric}");
    }
    assert!(row(&record, "page_faults", "true 2")["verdict"].is_null());
}

#[test]
fn a_number_in_the_output_decides_and_higher_is_better() {
    let flags = ["--runs", "8", "--quiet", "--metric", "ops=(\\d+) ops", "--higher-is-better"];
    let record = record(&[&["ab", "echo 100 ops", "echo 150 ops"][..], &flags].concat());
    let ops = row(&record, "ops", "echo 150 ops");
    assert_eq!((&ops["verdict"], &ops["ratio"], &ops["is_decisive"]), (&"better".into(), &1.5.into(), &true.into()));
    assert_eq!(results(&record)[0]["metric"], "ops");
    assert_eq!(row(&record, "wall_s", "echo 150 ops")["is_decisive"], false);
}

#[test]
fn limit_fails_if_every_plausible_ratio_exceeds_it() {
    // In six runs, the times cannot show a difference next to the metric.
    let metric = ["--metric", "n=(\\d+)", "--runs", "6"];
    let ends = |flags: &[&str]| ab(&[flags, &metric].concat());
    let worse = ends(&["echo 100", "echo 107", "--fail-if", "slower:5%"]);
    assert_eq!(worse.status.code(), Some(3), "{}", stderr(&worse));
    assert!(stderr(&worse).contains("--fail-if slower:5%: echo 107: n 1.070×"), "{}", stderr(&worse));
    assert_eq!(ends(&["echo 100", "echo 104", "--fail-if", "slower:5%"]).status.code(), Some(0));
    assert_eq!(ends(&["echo 100", "echo 80", "--fail-if", "slower:5%"]).status.code(), Some(0));
    let few = ab(&["echo 100", "echo 107", "--metric", "(\\d+)", "--runs", "3", "--fail-if", "slower:5%"]);
    assert_eq!(few.status.code(), Some(1), "{}", stderr(&few));
    assert!(stderr(&few).contains("--fail-if: 3 runs of each command cannot be judged"), "{}", stderr(&few));
}

/// Four sides share the error, so that six runs cannot show a difference of any of them.
#[test]
fn too_few_runs_for_the_number_of_sides_are_not_judged() {
    let sides = ["echo 100", "echo 200", "echo 300", "echo 400", "--metric", "n=(\\d+)", "--runs", "6"];
    let text = ab(&sides);
    let shown = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(shown.contains("not judged: 2 more runs") && !shown.contains("2.00 no difference"), "{shown}");
    let gate = ab(&[&sides[..], &["--fail-if", "slower:5%", "--format", "json"]].concat());
    assert_eq!(gate.status.code(), Some(1), "{}", stderr(&gate));
    assert!(stderr(&gate).contains("6 runs of each command cannot be judged; at least 8 are"), "{}", stderr(&gate));
    let judged = read(&gate.stdout);
    assert!(judged["warnings"].to_string().contains("few_blocks"), "{}", judged["warnings"]);
    let n = row(&judged, "n", "echo 400");
    assert_eq!((&n["verdict"], &n["missing_runs"]), (&"not_judged".into(), &2.into()));
    let csv = ab(&[&sides[..], &["--format", "csv"]].concat());
    assert!(
        String::from_utf8_lossy(&csv.stdout).contains(",not_judged,2,"),
        "{}",
        String::from_utf8_lossy(&csv.stdout)
    );
}

#[test]
fn a_control_is_a_side_of_its_own_that_no_limit_judges() {
    let flags = ["--metric", "n=(\\d+)", "--control", "--runs", "8", "--fail-if", "slower:1%", "--format", "json"];
    let output = ab(&[&["echo 100", "echo 90"][..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = read(&output.stdout);
    let sides = record["parameters"]["sides"].as_array().unwrap();
    assert_eq!((&sides[2]["is_control"], &sides[2]["command"]), (&true.into(), &"echo 100".into()));
    let control = row(&record, "n", "control: echo 100");
    assert_eq!((&control["verdict"], &control["compared_with"]), (&"less_than_least".into(), &"echo 100".into()));
    assert!(record["parameters"]["control_differs"].is_boolean());
}

#[test]
fn parameters_make_a_side_for_each_combination() {
    let flags = ["--parameter", "n=1,2", "--parameter", "a,b=x:y,z:w", "--runs", "1", "--warmup", "0", "--quiet"];
    let record = record(&[&["ab", "echo {n}{a}{b}"][..], &flags].concat());
    let sides: Vec<&str> =
        record["parameters"]["sides"].as_array().unwrap().iter().map(|side| side["side"].as_str().unwrap()).collect();
    assert_eq!(sides, ["echo 1xy", "echo 1zw", "echo 2xy", "echo 2zw"]);
    assert_eq!(record["parameters"]["sides"][3]["parameters"]["b"], "w");
    let compared =
        crate::command::record(&["ab", "echo a{n}", "echo b{n}", "--parameter", "n=1,2", "--runs", "1", "--quiet"]);
    let with: Vec<&Value> =
        compared["parameters"]["sides"].as_array().unwrap().iter().map(|side| &side["compared_with"]).collect();
    assert_eq!(with, [&Value::Null, &0.into(), &Value::Null, &2.into()]);
}

#[test]
fn commands_get_their_input_directory_and_environment() {
    let (_directory, path) = place();
    fs::write(format!("{path}/in"), "value 17\n").unwrap();
    let input = format!("{path}/in");
    let of = |command: &str, flags: &[&str]| {
        let all = [&["ab", command, command, "--metric", "n=value (\\d+)", "--runs", "1", "--quiet"], flags].concat();
        let record = record(&all);
        row(&record, "n", command)["median"].as_f64().unwrap()
    };
    assert_eq!(of("cat", &["--input", &input]), 17.0);
    assert_eq!(of("cat in", &["--directory", &path]), 17.0);
    assert_eq!(of("sh -c 'echo value $N'", &["--env", "N=18"]), 18.0);
    let prepare = format!("echo value 19 > {input}");
    assert_eq!(of(&format!("cat {input}"), &["--prepare", &prepare]), 19.0);
}

#[test]
fn the_environment_has_another_size_in_each_run() {
    let (_directory, path) = place();
    let command = format!("sh -c 'echo ${{#CONTEND_AB_PADDING}} >> {path}/sizes'");
    let sizes = |flags: &[&str]| {
        let _ = fs::remove_file(format!("{path}/sizes"));
        let output = ab(&[&[command.as_str(), "true", "--runs", "10"], flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = fs::read_to_string(format!("{path}/sizes")).unwrap();
        text.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert!(sizes(&[]).len() > 3);
    assert_eq!(sizes(&["--fixed-environment"]), BTreeSet::from(["0".to_owned()]));
}

#[test]
fn a_shell_runs_all_sides_or_none() {
    let shells = |first: &str, second: &str, flags: &[&str]| {
        let record = record(&[&["ab", first, second, "--runs", "1", "--quiet"], flags].concat());
        let sides = record["parameters"]["sides"].as_array().unwrap();
        sides.iter().map(|side| side["shell"].as_bool().unwrap()).collect::<Vec<bool>>()
    };
    assert_eq!(shells("true", "echo 'a b'", &[]), [false, false]);
    assert_eq!(shells("true", "true | true", &[]), [true, true]);
    assert_eq!(shells("true", "true 2", &["--shell"]), [true, true]);
}

#[test]
fn interrupted_comparison_keeps_runs_and_leaves_no_process() {
    heard::interrupts();
    let command = "sleep 0.03171";
    let child = Watched::start(&["ab", command, "sleep 0.03172", "--seconds", "100", "--format", "json"]);
    // The interval of a look is in the progress from the tenth part of the time on, so the runs have begun long before.
    child.until("sleep 0.03172");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let ended = child.interrupt(Signal::INT);
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let record = read(&ended.stdout);
    assert_eq!(
        (&record["environment"]["interrupted"], &record["parameters"]["ended_by"]),
        (&true.into(), &"interrupted".into())
    );
    assert!(results(&record)[0]["runs"].as_u64().unwrap() > 0);
    assert!(!is_running(command));
}

/// Whether a process has this command line.
fn is_running(command: &str) -> bool {
    let words = command.replace(' ', "\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .into_iter()
        .any(|process| fs::read(process.path().join("cmdline")).is_ok_and(|line| line.starts_with(words.as_bytes())))
}
