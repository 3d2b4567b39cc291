//! The file of metrics that `--metrics` keeps.

use super::{rows, start, warnings};
use crate::command::read;
use std::process::Command;
use std::time::Duration;

#[test]
fn metrics_are_complete_and_well_formed_at_every_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.prom");
    let arguments = ["load", "--interval", "100ms", "--seconds", "1", "--quiet", "--metrics", file.to_str().unwrap()];
    let mut child = start(&arguments);
    let mut readings = 0;
    while child.try_wait().unwrap().is_none() {
        if let Ok(text) = std::fs::read_to_string(&file) {
            check_exposition(&text);
            readings += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success() && readings > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a draft is left");
}

/// Checks that families are declared before their samples, that each name ends in a unit, and that the end is marked.
fn check_exposition(text: &str) {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut family = ("", "");
    for line in text.lines().filter(|line| *line != "# EOF") {
        match line.strip_prefix("# ").map(|meta| meta.split(' ').collect::<Vec<_>>()).as_deref() {
            Some(["TYPE", name, kind]) => family = (*name, *kind),
            Some(["UNIT", name, unit]) => assert!(*name == family.0 && name.ends_with(&format!("_{unit}")), "{line}"),
            Some(["HELP", name, ..]) => assert_eq!(*name, family.0),
            Some(_) => panic!("{line}"),
            None => {
                let suffix = if family.1 == "counter" { "_total" } else { "" };
                let sample = line.strip_prefix(family.0).and_then(|rest| rest.strip_prefix(suffix));
                let value =
                    sample.and_then(|rest| rest.strip_prefix("{cpu=\"")).and_then(|rest| rest.split_once("\"} "));
                let (cpu, value) = value.unwrap_or_else(|| panic!("{line} is no sample of {family:?}"));
                assert!(cpu.parse::<usize>().is_ok() && value.parse::<f64>().unwrap().is_finite(), "{line}");
            }
        }
    }
}

/// The disk fills up in a private mount namespace, which ends with the command.
#[test]
fn full_disk_loses_only_the_metrics() {
    let script = format!(
        "mount -t tmpfs -o size=16k none \"$0\" && head -c 12k /dev/zero > \"$0/other\" && \
         CONTEND_ARCHIVE= {} load --interval 100ms --seconds 0.5 --metrics \"$0/load.prom\" --format json",
        env!("CARGO_BIN_EXE_contend")
    );
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let filled = |script: &str| Command::new("unshare").args(["--mount", "bash", "-c", script, place]).output();
    match filled("mount -t tmpfs -o size=16k none \"$0\"") {
        Ok(output) if output.status.success() => {}
        _ => return println!("skipped: needs root and unshare"),
    }
    // The first draft, which is empty, finds room; what is written into it fills the last page.
    let full = script.replace("12k", "16k");
    let output = filled(&full).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let record = read(&output.stdout);
    assert!(!rows(&record, "total").is_empty());
    // On a busy machine more serious warnings use the terminal's three lines.
    let warning_text = record["warnings"].to_string();
    assert!(
        warnings(&record).contains(&"left_out") && warning_text.contains("could not be replaced"),
        "{warning_text}"
    );
}
