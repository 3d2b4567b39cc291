//! `contend model frames` and `contend model step` through their binary.

use crate::command::{contend, record, results};
use serde_json::Value;
use std::path::PathBuf;

/// A trace in a file of its own, gone with the folder.
struct Trace {
    folder: tempfile::TempDir,
}

impl Trace {
    fn of(text: impl AsRef<[u8]>) -> Self {
        let trace = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(trace.path(), text).unwrap();
        trace
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// `contend model step` with it.
    fn step<'a>(&'a self, arguments: &[&'a str]) -> Vec<String> {
        let own = ["model", "step", "--trace", self.path().to_str().unwrap()].map(str::to_owned);
        own.into_iter().chain(arguments.iter().map(|argument| (*argument).to_owned())).collect()
    }
}

/// A gap of 1 ms once a second, for `seconds`.
fn once_a_second(seconds: u64) -> Trace {
    let gaps: String = (0..seconds).map(|second| format!("{} 1000000\n", second * 1_000_000_000 + 500_000)).collect();
    Trace::of(format!("# span_ns {}\n{gaps}", seconds * 1_000_000_000))
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

fn figures<'a>(record: &'a Value, figure: &'a str, quantum_us: f64) -> Vec<&'a Value> {
    let wanted = |row: &&Value| row["figure"] == figure && row["quantum_us"] == quantum_us;
    results(record).iter().filter(wanted).collect()
}

/// The exit status and what stderr says; stdout must stay empty.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = contend(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    (output.status.code().expect("it ends by itself"), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_frames_of_1999_are_computed_beside_what_was_printed() {
    let record = record(&["model", "frames", "--seed", "1"]);
    assert_eq!(record["experiment"], "model frames");
    assert_eq!(record["parameters"]["others_fraction"], "1/1025");
    for row in results(&record) {
        assert!(row["lost_quanta"].is_u64() && row["probability"].is_f64(), "{row}");
    }
    let any = figures(&record, "any", 3_000.0)[0];
    assert_eq!((number(any, "every_frames").round(), number(any, "then_every_frames")), (205.0, 205.0));
    assert!((3.0..4.0).contains(&number(any, "every_s")), "{any}");
    // With a reschedule every 100 µs, to the digits that were printed.
    let lost = figures(&record, "lost", 100.0);
    for (row, printed) in lost.iter().zip([(0.850, 3), (0.138, 3), (0.011, 3), (0.000_6, 4)]) {
        let (then, decimals) = printed;
        assert_eq!(format!("{:.decimals$}", number(row, "probability")), format!("{then:.decimals$}"), "{row}");
        assert_eq!(number(row, "then_probability"), then);
    }
    let total: f64 = lost.iter().map(|row| number(row, "probability")).sum();
    assert!((total - 1.0).abs() < 1e-12, "{total}");
    let more = figures(&record, "more_than", 100.0)[0];
    assert_eq!(format!("{:.3}", 100.0 - 100.0 * number(more, "probability")), "99.998");
    let animation = figures(&record, "animation", 3_000.0)[0];
    assert_eq!((number(animation, "resisted_quanta"), number(animation, "lost_quanta")), (2.0, 2.0));
    assert!((600.0..660.0).contains(&number(animation, "every_s")), "{animation}");
    // The third loss, which it cannot bear, is far rarer.
    assert!(number(animation, "first_glitch_s") > 100.0 * number(animation, "every_s"), "{animation}");
    assert!(!record["parameters"]["assumptions"].as_array().unwrap().is_empty());
}

#[test]
fn the_simulation_of_frames_follows_from_the_seed_and_agrees() {
    let arguments = ["model", "frames", "--quantum", "100us", "--more-than", "0,0.5", "--seed"];
    let with_seed = |seed| record(&[&arguments[..], &[seed]].concat());
    assert_eq!(with_seed("5")["results"], with_seed("5")["results"]);
    assert_ne!(with_seed("5")["results"], with_seed("6")["results"]);
    for row in figures(&with_seed("5"), "more_than", 100.0) {
        let (truth, frames) = (number(row, "probability"), number(row, "simulated_frames"));
        // Six standard errors.
        let error = 6.0 * (truth * (1.0 - truth) / frames).sqrt();
        assert!((number(row, "simulated_probability") - truth).abs() <= error, "{row}");
    }
}

/// Two nice values give the same shares by turns as by lot, but hardly two frames differ.
#[test]
fn linux_weights_lose_as_much_and_more_evenly() {
    let record = record(&["model", "frames", "--policy", "weights", "--priorities=-5,5", "--quantum", "100us"]);
    assert_eq!(number(&record["parameters"], "others_share"), 335.0 / 3_456.0);
    let lost = figures(&record, "lost", 100.0);
    let mean = |field: &str| lost.iter().map(|row| number(row, "lost_quanta") * number(row, field)).sum::<f64>();
    assert!((mean("probability") - 166.0 * 335.0 / 3_456.0).abs() < 1e-9);
    assert!((mean("drawn_probability") - mean("probability")).abs() < 1e-6);
    assert_eq!(lost.iter().filter(|row| number(row, "probability") > 0.0).count(), 2);
}

#[test]
fn a_measured_trace_stands_beside_the_frames() {
    // Of ten frames of 10 ms, two lose 3 ms and one loses 0.1 ms.
    let trace = Trace::of("# span_ns 100000000\n11000000 3000000\n41000000,3000000\n77000000 100000\n");
    let path = trace.path();
    let record = record(&["model", "frames", "--frame", "10ms", "--beside", path.to_str().unwrap()]);
    let lost = figures(&record, "lost", 3_000.0);
    assert_eq!((number(lost[0], "measured_probability"), number(lost[1], "measured_probability")), (0.8, 0.2));
    let more = figures(&record, "more_than", 3_000.0)[0];
    assert_eq!((number(more, "measured_probability"), number(more, "measured_frames")), (0.2, 10.0));
    assert_eq!(record["parameters"]["beside"]["span_from"], "header");
}

/// A node is late by the rest of the gap that its step begins in, or by all of one that it meets: with shares of a
/// thousandth each, F(x) = 0.998 + 0.001 x up to 1 ms, and the slowest of N has the mean ∫ 1 - F(x)^N dx.
#[test]
fn a_gap_of_1_ms_a_second_has_its_closed_form() {
    let trace = once_a_second(1_500);
    let arguments = trace.step(&["--nodes", "1,1000,1000000", "--processes", "1"]);
    let record = record(&words(&arguments));
    assert_eq!(record["experiment"], "model step");
    let exact: Vec<&Value> = results(&record).iter().filter(|row| row["method"] == "exact").collect();
    assert_eq!(exact.len(), 3);
    for row in exact {
        let n = number(row, "nodes");
        let closed = 2.0 - (0.999_f64.powf(n + 1.0) - 0.998_f64.powf(n + 1.0)) / (0.001 * (n + 1.0));
        assert!((number(row, "slowdown") / closed - 1.0).abs() < 1e-3, "{row} {closed}");
        assert!((number(row, "mean_us") - 1_000.0 * closed).abs() < 1.0, "{row}");
        assert_eq!(number(row, "step_us"), 1_000.0);
        // Of starts while the node runs one in 999 meets the gap.
        let running = 2.0 - (998.0_f64 / 999.0).powf(n);
        assert!((number(row, "running_slowdown") / running - 1.0).abs() < 1e-3, "{row} {running}");
        assert!((number(row, "together_slowdown") - 1.001_5).abs() < 1e-9);
        let p50 = if n == 1.0 { 1_000.0 } else { 2_000.0 };
        assert!((number(row, "p50_us") - p50).abs() < 1.0, "{row}");
        // A million medians fit into the trace, but not so many of the last per cent.
        assert_eq!(row["p99_us"].is_null(), n == 1e6, "{row}");
    }
}

#[test]
fn the_barrier_is_late_apart_and_not_at_once_and_follows_from_the_seed() {
    let trace = once_a_second(1);
    let simulate = |seed| {
        let arguments = trace.step(&["--nodes", "256", "--processes", "1,256", "--steps", "60", "--seed", seed]);
        record(&words(&arguments))
    };
    let first = simulate("3");
    let barrier: Vec<&Value> = results(&first).iter().filter(|row| row["method"] == "barrier").collect();
    let many = barrier[1];
    assert_eq!((number(many, "nodes"), number(many, "simulated_steps")), (256.0, 600.0));
    // Eight rounds of 1.5 µs.
    assert_eq!(number(many, "quiet_us"), 1_012.0);
    // The exact figure is 1.31: a quarter of the steps meet a gap.
    assert!((1.1..1.6).contains(&number(many, "slowdown")), "{many}");
    assert!(number(many, "together_slowdown") < 1.05 && number(barrier[0], "slowdown") < 1.05);
    assert!(many["slowdown_ci"].is_array());
    assert_eq!(first["results"], simulate("3")["results"]);
    assert_ne!(first["results"], simulate("4")["results"]);
}

#[test]
fn what_the_trace_is_too_short_for_is_refused_or_marked() {
    let trace = once_a_second(1);
    let (status, stderr) = refused(&words(&trace.step(&["--nodes", "1,1000000"])));
    assert_eq!(status, 2, "{stderr}");
    for word in ["--nodes 1000000", "supports 692 nodes", "contend noise", "--extrapolate"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    let (status, stderr) = refused(&words(&trace.step(&["--processes", "65536"])));
    assert!(status == 2 && stderr.contains("--processes 65536"), "{stderr}");
    // Unasked, it goes as far as the trace does, and says so.
    let reached = record(&words(&trace.step(&["--processes", "1", "--steps", "10"])));
    assert!(results(&reached).iter().all(|row| number(row, "nodes") <= 692.0));
    let warned =
        |record: &Value, code: &str| record["warnings"].as_array().unwrap().iter().any(|it| it["code"] == code);
    assert!(warned(&reached, "left_out"), "{}", reached["warnings"]);
    let beyond = trace.step(&["--nodes", "1000000", "--processes", "1", "--steps", "10", "--extrapolate"]);
    let beyond = record(&words(&beyond));
    assert!(warned(&beyond, "extrapolated") && results(&beyond)[0]["p99_us"].is_f64());
}

#[test]
fn a_gap_longer_than_a_step_is_counted_and_warned_about() {
    let trace = Trace::of("# span_ns 1000000000\n5000000 5000000\n");
    let record =
        record(&words(&trace.step(&["--step", "1ms", "--nodes", "1,100", "--processes", "4", "--steps", "10"])));
    let warnings = record["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "step_shorter_than_gap"), "{warnings:?}");
    // A step begins in the gap or meets it six times in a thousand, and waits 5 ms at the most.
    let row = &results(&record)[1];
    assert!((2.0..6.0).contains(&number(row, "slowdown")), "{row}");
}

/// Each message names the flag or the file, the place, and what is allowed.
#[test]
fn bad_traces_exit_with_2_and_name_line_and_column() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"", &["line 1, column 1", "no gaps"]),
        (b"# span_ns 1000\n", &["line 1, column 1", "no gaps"]),
        (b"10 5\nx 5\n", &["line 2, column 1", "\"x\" is not a whole number"]),
        (b"10 5\n20\n", &["line 2, column 3", "two numbers are needed"]),
        (b"10 5\n20 5 7\n", &["line 2, column 6", "only two numbers"]),
        (b"10 5\n20 -5\n", &["line 2, column 4", "-5 is negative"]),
        (b"10 0\n", &["line 1, column 1", "zero length"]),
        (b"10 5\n12 5\n", &["line 2, column 1", "overlaps", "15 ns"]),
        (b"# span_ns 12\n10 5\n", &["line 2, column 1", "ends after the recording", "12 ns"]),
        (b"# span_ns soon\n10 5\n", &["line 1, column 11", "\"soon\""]),
        (b"0 10\n", &["nothing ever ran"]),
        (b"10 5\n\xff\xfe\n", &["line 2", "no text"]),
    ];
    for (text, said) in cases {
        let trace = Trace::of(text);
        let path = trace.path();
        let beside = ["model", "frames", "--frame", "1ns", "--quantum", "1ns", "--beside", path.to_str().unwrap()];
        for (flag, arguments) in
            [("--trace", trace.step(&["--step", "1us"])), ("--beside", beside.map(str::to_owned).to_vec())]
        {
            let (status, stderr) = refused(&words(&arguments));
            assert_eq!(status, 2, "{text:?}: {stderr}");
            let place = format!("{flag} {}", path.display());
            let said = said.iter().copied().chain([place.as_str(), "start_ns duration_ns"]);
            said.for_each(|word| assert!(stderr.contains(word), "{text:?} should say {word:?}:\n{stderr}"));
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
    }
}

#[test]
fn wrong_flags_exit_with_2_and_name_flag_value_and_remedy() {
    let trace = once_a_second(1);
    let path = trace.path();
    let path = path.to_str().unwrap();
    let step = |flag, value| ["model", "step", "--trace", path, flag, value];
    let cases: &[(&[&str], &[&str])] = &[
        (&["model"], &["frames", "step"]),
        (&["model", "step"], &["--trace FILE", "contend noise --trace FILE"]),
        (&step("--nodes", "0"), &["--nodes", "0", "from 1 to 10000000"]),
        (&step("--nodes", "-1"), &["--nodes", "-1"]),
        (&step("--processes", "0"), &["--processes", "0", "from 1 to"]),
        (&step("--step", "0"), &["--step 0ns", "at least 1 ns"]),
        (&step("--step", "1"), &["--step", "unit"]),
        (&step("--step", "2s"), &["--step 2s", "supports 0 nodes"]),
        (&step("--span", "1us"), &["line 2", "ends after the recording"]),
        (&["model", "frames", "--shares", "0.9,0.2"], &["--shares 0.9,0.2", "sum to 1.1", "not to one"]),
        (&["model", "frames", "--shares", "1.5,-0.5"], &["--shares 1.5,-0.5", "between 0 and 1"]),
        (&["model", "frames", "--shares", "0.5,0.5", "--policy", "weights"], &["--shares", "drawn by lot"]),
        (&["model", "frames", "--priorities", "20"], &["--priorities 20", "competitor"]),
        (&["model", "frames", "--priorities", "20,0"], &["--priorities 20,0", "1 to 99"]),
        (&["model", "frames", "--priorities", "99,1"], &["--priorities 99,1", "62"]),
        (&["model", "frames", "--policy", "weights", "--priorities", "0,20"], &["0,20", "-20 to 19"]),
        (&["model", "frames", "--policy", "dice"], &["--policy", "dice", "lottery", "weights"]),
        (&["model", "frames", "--quantum", "20ms"], &["--quantum 20ms", "at most the frame"]),
        (&["model", "frames", "--quantum", "-1ms"], &["--quantum", "-1ms", "negative"]),
        (&["model", "frames", "--frame", "0"], &["--frame 0", "more than 0"]),
        (&["model", "frames", "--more-than", "120"], &["--more-than", "120", "percentage"]),
        (&["model", "frames", "--needs", "1.5"], &["--needs", "1.5", "between 0 and 1"]),
        (&["model", "frames", "--beside", path, "--frame", "2s", "--quantum", "1s"], &["--beside", "no frame of 2s"]),
    ];
    for (arguments, said) in cases {
        let (status, stderr) = refused(arguments);
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        said.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn a_table_too_large_for_memory_stops_with_its_size() {
    let (status, stderr) = refused(&["model", "frames", "--quantum", "1ns", "--frame", "1min"]);
    assert_eq!(status, 1, "{stderr}");
    for word in ["--quantum 1ns", "stopped at 60000000001 distinct outcomes", "67108864 bytes", "longer quantum"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
}

#[test]
fn simulated_time_that_would_overflow_is_refused() {
    let trace = Trace::of("# span_ns 9000000000000000000\n10 5\n");
    let (status, stderr) = refused(&words(&trace.step(&[])));
    assert!(status == 2 && stderr.contains("--step 1ms") && stderr.contains("64 bits"), "{stderr}");
}

#[test]
fn a_missing_trace_file_is_named() {
    let (status, stderr) = refused(&["model", "step", "--trace", "/nowhere/trace"]);
    assert!(status == 1 && stderr.contains("--trace /nowhere/trace"), "{stderr}");
}

#[test]
fn pages_fit_eighty_columns_and_state_their_assumptions() {
    let trace = once_a_second(1);
    let path = trace.path();
    let step = trace.step(&["--steps", "10", "--quiet"]);
    let frames = ["model", "frames", "--beside", path.to_str().unwrap()].map(str::to_owned).to_vec();
    let weights = ["model", "frames", "--policy", "weights"].map(str::to_owned).to_vec();
    for arguments in [step, frames, weights] {
        let text = String::from_utf8(contend(&words(&arguments)).stdout).unwrap();
        assert!(text.contains("Assumed") && text.contains("stationarity"), "{text}");
        for line in text.lines().filter(|line| !line.contains(path.to_str().unwrap())) {
            assert!(line.chars().count() <= 80 && line == line.trim_end(), "{line:?}");
        }
    }
}

#[test]
fn the_steps_intervals_are_said_to_know_one_recording() {
    let text =
        String::from_utf8(contend(&words(&once_a_second(1).step(&["--steps", "10", "--quiet"]))).stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("how far another recording would differ they do not know"), "{text}");
}

#[test]
fn rows_are_written_as_csv() {
    let output = contend(&["model", "frames", "--quantum", "3ms", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let header = text.lines().next().unwrap();
    assert!(
        header.starts_with("figure,") && header.contains(",lost_quanta,") && header.contains(",probability,"),
        "{header}"
    );
}
