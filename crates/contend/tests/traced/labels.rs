//! `contend trace` on programs that label their requests.

use crate::programs::{Programs, command, traced};
use crate::times::off;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interpose/include");

/// The program at fixed addresses: a linker resolves weak symbols that are not called through a table to nothing there.
fn program(programs: &Programs) -> Option<PathBuf> {
    programs.compiled("labels", &["-O2", "-fno-pie", "-no-pie", "-I", HEADER])
}

fn label<'a>(rows: &[&'a Value], name: &str) -> &'a Value {
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no label {name} in {rows:#?}"))
}

#[test]
fn labelled_requests_equal_the_programs_account() {
    let programs = Programs::new();
    let Some(program) = program(&programs) else { return };
    let mut deviations = Vec::new();
    // Others may take the CPU between the program's reading of the clock and the library's.
    for _ in 0..5 {
        let found = deviation(&programs, &program);
        if found.is_empty() {
            return;
        }
        deviations.push(found);
    }
    panic!("five times: {deviations:?}");
}

fn deviation(programs: &Programs, program: &Path) -> Vec<String> {
    let traced = traced(programs, &[], program, &[]);
    let account = String::from_utf8_lossy(&traced.output.stdout).into_owned();
    let [requests, total_ns, waited_ns] = account.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{account}")
    };
    let rows = traced.rows("label");
    let (first, second) = (label(&rows, "GET /x"), label(&rows, "GET /y"));
    assert_eq!((rows.len(), first["requests"].to_string().as_str()), (2, requests));
    // No wait: each ended with the next label, or with its thread.
    assert_eq!((second["requests"].as_u64(), second["requests_waited"].as_u64()), (Some(10), Some(0)));
    assert_eq!((second["lock_s"].as_f64(), second["share"].as_f64()), (Some(0.0), Some(0.0)));
    let lock = &first["label_locks"][0];
    assert_eq!(lock["lock"], "cache_mu", "{first}");
    assert!(lock["held_by"][0]["site"].as_str().unwrap().starts_with("flush (labels.c:"), "{lock}");
    let ns = |field: &str| first[field].as_f64().unwrap_or_else(|| panic!("no {field} in {first}"));
    assert!(ns("request_p99_ns") > ns("outside_p99_ns") && ns("wait_max_ns") <= ns("request_max_ns"), "{first}");
    let number = |text: &str| text.parse::<f64>().unwrap();
    let share = number(waited_ns) / number(total_ns);
    [
        off("total", ns("total_s") * 1e9, number(total_ns)),
        off("waited", ns("lock_s") * 1e9, number(waited_ns)),
        off("waited for the lock", lock["wait_s"].as_f64().unwrap() * 1e9, number(waited_ns)),
        off("share", ns("share"), share),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn labelled_requests_of_two_records_are_compared() {
    let programs = Programs::new();
    let Some(program) = program(&programs) else { return };
    let (record, before) = (programs.path("record.json"), programs.path("before.json"));
    traced(&programs, &[], &program, &["2"]);
    std::fs::rename(&record, &before).unwrap();
    traced(&programs, &[], &program, &["2"]);
    let mut compare = Command::new(env!("CARGO_BIN_EXE_contend"));
    let output = compare.env("CONTEND_ARCHIVE", "").arg("compare").args([&before, &record]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("requests GET /1") && text.contains("request p99"), "{text}");
}

#[test]
fn first_lines_have_the_labelled_requests() {
    let programs = Programs::new();
    let Some(program) = program(&programs) else { return };
    let output = command(&[], &program, &[]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let first: Vec<&str> = text.lines().take(20).collect();
    let first = first.join(" ").split_whitespace().collect::<Vec<&str>>().join(" ");
    for part in [
        "60 requests \"GET /x\" spent ",
        " of their time waiting for cache_mu, held by flush (labels.c:",
        " of them waited; p99 of all is ",
        " outside lock waits.",
    ] {
        assert!(first.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn labels_beyond_the_room_are_one_row_and_a_warning() {
    let programs = Programs::new();
    let Some(program) = program(&programs) else { return };
    let traced = traced(&programs, &["--all"], &program, &["100"]);
    let rows = traced.rows("label");
    assert_eq!((rows.len(), label(&rows, "other labels")["requests"].as_u64()), (65, Some(36)));
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(
        names.iter().any(|name| name.ends_with("xxx…")) && names.iter().all(|name| !name.contains('\u{1b}')),
        "{names:?}"
    );
    let warnings = traced.record["warnings"].as_array().unwrap();
    let warning = warnings.iter().find(|warning| warning["code"] == "many_labels");
    let message = warning.expect("a warning")["message"].as_str().unwrap();
    assert!(message.contains("36 requests with further labels"), "{message}");
}

#[test]
fn header_is_plain_cpp_and_does_nothing_when_not_traced() {
    let programs = Programs::new();
    let Some(_) = program(&programs) else { return };
    let (source, built) = (programs.path("plain.cpp"), programs.path("plain"));
    let text = "#include <contend_label.h>\nint main() { contend_label(\"GET /x\"); contend_label(nullptr); }\n";
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-I", HEADER, "-o"]).arg(&built).arg(&source);
    let Ok(output) = compiler.output() else { return println!("skipped: needs c++") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Command::new(&built).status().unwrap().success());
}
