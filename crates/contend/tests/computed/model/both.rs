//! Common tests of both models: invalid traces and flags, and their pages.

use super::{Trace, once_a_second, refused, words};
use crate::command::contend;

/// Each message names the flag or the file, the place, and what is allowed.
#[test]
fn invalid_traces_exit_with_2_and_name_line_and_column() {
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
        (b"10 5\n\xff\xfe\n", &["line 2", "not UTF-8 text"]),
    ];
    for (text, expected) in cases {
        let trace = Trace::of(text);
        let path = trace.path();
        let arguments_beside =
            ["model", "frames", "--frame", "1ns", "--quantum", "1ns", "--beside", path.to_str().unwrap()];
        for (flag, arguments) in
            [("--trace", trace.step(&["--step", "1us"])), ("--beside", arguments_beside.map(str::to_owned).to_vec())]
        {
            let (status, stderr) = refused(&words(&arguments));
            assert_eq!(status, 2, "{text:?}: {stderr}");
            let place = format!("{flag} {}", path.display());
            let expected = expected.iter().copied().chain([place.as_str(), "start_ns duration_ns"]);
            expected.for_each(|word| assert!(stderr.contains(word), "{text:?} should say {word:?}:\n{stderr}"));
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
        (&["model", "frames", "--shares", "0.5,0.5", "--policy", "weights"], &["--shares", "--policy lottery"]),
        (&["model", "frames", "--priorities", "20"], &["--priorities 20", "competitor"]),
        (&["model", "frames", "--priorities", "20,0"], &["--priorities 20,0", "1 to 99"]),
        (&["model", "frames", "--priorities", "99,1"], &["--priorities 99,1", "62"]),
        (&["model", "frames", "--policy", "weights", "--priorities", "0,20"], &["0,20", "-20 to 19"]),
        (&["model", "frames", "--policy", "dice"], &["--policy", "dice", "lottery", "weights"]),
        (&["model", "frames", "--quantum", "20ms"], &["--quantum 20ms", "at most the frame"]),
        (&["model", "frames", "--quantum", "-1ms"], &["--quantum", "-1ms", "negative"]),
        (&["model", "frames", "--frame", "0"], &["--frame 0", "greater than 0"]),
        (&["model", "frames", "--more-than", "120"], &["--more-than", "120", "percentage"]),
        (&["model", "frames", "--needs", "1.5"], &["--needs", "1.5", "between 0 and 1"]),
        (
            &["model", "frames", "--beside", path, "--frame", "2s", "--quantum", "1s"],
            &["--beside", "shorter than a frame of 2s"],
        ),
    ];
    for (arguments, expected) in cases {
        let (status, stderr) = refused(arguments);
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        expected.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
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
