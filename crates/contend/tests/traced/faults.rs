//! Programs that replace the files that contend reads, or write into the memory that they are recorded into; and
//! programs that cannot load its library as others do.

use crate::command;
use crate::limits::run_within_limits;
use crate::programs::{Programs, command as trace};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs `contend trace` on a program, and returns its record if there is one.
fn traced_within_limits(programs: &Programs, program: &Path, arguments: &[&str]) -> (Output, Option<Value>) {
    let file = programs.path("limits.json");
    let _ = std::fs::remove_file(&file);
    let flags = ["--format", "json", "--output", file.to_str().unwrap()];
    let output = run_within_limits(&trace(&flags, program, arguments));
    (output, std::fs::read(&file).ok().map(|bytes| command::read(&bytes)))
}

/// Returns the record of `contend trace` on a program.
fn recorded_within_limits(programs: &Programs, program: &Path, arguments: &[&str]) -> Value {
    let (output, record) = traced_within_limits(programs, program, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {:?}\n{stderr}", output.status);
    record.unwrap_or_else(|| panic!("{arguments:?}: no record: {stderr}"))
}

#[test]
fn locks_in_anonymous_memory_are_named_by_first_use() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("shared", &[]) else { return };
    let record = recorded_within_limits(&programs, &program, &[]);
    let rows = record["results"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["lock"].as_str().unwrap().starts_with("mutex of main (shared.c:")), "{rows:#?}");
    assert!(!record["warnings"].to_string().contains("unnamed_code"), "{}", record["warnings"]);
}

/// Asserts that the names are those of the mapped file, or that there are none and a warning says so.
fn assert_named_rightly(record: &Value, file: &str) {
    let (rows, warnings) = (record["results"].to_string(), record["warnings"].to_string());
    assert!(!rows.contains("other_"), "named from another file: {rows}");
    let is_named = rows.contains("mapped_lock") && rows.contains("mapped_function (replaced.c:");
    let says_so = warnings.contains("unnamed_code") && warnings.contains(file);
    assert!(is_named || says_so, "{rows}\n{warnings}");
}

#[test]
fn changed_program_file_never_gives_wrong_names() {
    for becomes in ["kept", "fifo", "sparse", "garbage", "nothing"] {
        let programs = Programs::new();
        let Some(program) = programs.compiled("replaced", &[]) else { return };
        let record = recorded_within_limits(&programs, &program, &[becomes, "0.6"]);
        assert_named_rightly(&record, "replaced");
    }
}

/// Returns the program that has been upgraded, and the one that it was upgraded to: the same code with other names.
fn upgraded(programs: &Programs) -> Option<(PathBuf, PathBuf)> {
    let other = programs.compiled("replaced", &["-DLOCK=other_lock", "-DFUNCTION=other_function"])?;
    let next = programs.path("next");
    std::fs::rename(other, &next).unwrap();
    Some((programs.compiled("replaced", &[])?, next))
}

#[test]
fn an_upgraded_program_is_not_named_from_its_successor() {
    let programs = Programs::new();
    let Some((program, next)) = upgraded(&programs) else { return };
    let record = recorded_within_limits(&programs, &program, &["with", next.to_str().unwrap(), "0.6"]);
    assert_named_rightly(&record, "replaced");
}

/// Runs the program in a separate mount namespace, where it is another file than the one at its path here.
#[test]
fn file_of_another_mount_namespace_gives_no_wrong_names() {
    let programs = Programs::new();
    let Some((inner, outer)) = upgraded(&programs) else { return };
    let script = format!("mount --bind {} {} && exec {} kept 0.8", inner.display(), outer.display(), outer.display());
    let arguments = ["-m", "sh", "-c", &script];
    let plain = Command::new("unshare").args(["-m", "true"]).output();
    if !plain.is_ok_and(|output| output.status.success()) {
        return println!("skipped: needs unshare, and root");
    }
    let record = recorded_within_limits(&programs, Path::new("unshare"), &arguments);
    assert_named_rightly(&record, "next");
}

#[test]
fn writes_of_the_program_into_the_memory_do_no_harm() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("scribbles", &[]) else { return };
    let (output, record) = traced_within_limits(&programs, &program, &["shrink"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "refused\n");
    assert!(output.status.success() && record.is_some(), "{output:?}");
    let seeds: Vec<String> = (1..=6).map(|seed: u32| seed.to_string()).collect();
    let random = seeds.iter().map(|seed| vec!["random", seed]);
    for arguments in random.chain([vec!["ones", "1"], vec!["header"]]) {
        let (output, record) = traced_within_limits(&programs, &program, &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Its own, or that of the signal that it brought on itself.
        let is_sane = output.status.code().is_some_and(|status| !(2..=128).contains(&status));
        assert!(is_sane, "{arguments:?}: {:?}\n{stderr}", output.status);
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        // There is a record, or a reason why not.
        assert!(record.is_some() || stderr.contains("error"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn layers_of_readers_are_searched_for_circles_once() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("layers", &[]) else { return };
    let record = recorded_within_limits(&programs, &program, &["16", "8"]);
    let rows = record["results"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["lock"].as_str().unwrap().starts_with("lock_of_layer")), "{rows:#?}");
    assert!(rows.iter().all(|row| row["kind"] != "deadlock"), "{rows:#?}");
}

#[test]
fn a_program_that_becomes_another_users_is_said_not_to_be_seen() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let folder = program.parent().unwrap();
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    let ways: [(&[&str], &str); 2] = [
        (&["setpriv", "--reuid", "65534"], "runs as user 65534, so it cannot load contend's library"),
        (&["unshare", "-r"], "runs in another user namespace, so it cannot load contend's library"),
    ];
    for (way, words) in ways {
        let works = Command::new(way[0]).args(&way[1..]).arg("true").output();
        if !works.is_ok_and(|output| output.status.success()) {
            println!("skipped: needs {}, and root", way[0]);
            continue;
        }
        let arguments = [&way[1..], &[program.to_str().unwrap(), "1500"]].concat();
        let (output, record) = traced_within_limits(&programs, Path::new(way[0]), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let warnings = record.map(|record| record["warnings"].to_string()).unwrap_or_default();
        assert!(stderr.contains(words) || warnings.contains(words), "{stderr}\n{warnings}");
        assert!(!stderr.contains("used none of the C library's locks"), "{stderr}");
    }
}

/// Programs with a sanitizer say the same under watch as alone: nothing.
#[test]
fn sanitizers_run_under_watch_and_see_nothing_that_is_not_there() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/replaced.c");
    for sanitizer in ["thread", "address"] {
        let programs = Programs::new();
        let program = programs.path("sanitized");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-g", "-O1", "-pthread"])
            .arg(format!("-fsanitize={sanitizer}"))
            .arg("-o")
            .arg(&program)
            .arg(&source);
        let is_compiled = compiler.output().is_ok_and(|output| output.status.success());
        // Not every kernel's addresses suit it.
        let runs = || Command::new(&program).args(["kept", "0.1"]).output().is_ok_and(|output| output.status.success());
        if !is_compiled || !runs() {
            println!("skipped: needs cc with -fsanitize={sanitizer}");
            continue;
        }
        let output = trace(&[], &program, &["kept", "0.1"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sanitizer}: {:?}\n{stderr}", output.status);
        assert!(
            !stderr.contains("Sanitizer") && !stderr.contains("runtime does not come first"),
            "{sanitizer}: {stderr}"
        );
        assert!(stderr.contains("mapped_lock"), "{sanitizer}: {stderr}");
    }
}

#[test]
fn a_small_stack_is_enough() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("replaced", &[]) else { return };
    let watching = trace(&[], &program, &["kept", "0.1"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -s 64 && exec \"$@\"", "sh"]).arg(watching.get_program()).args(watching.get_args());
    let output = limited.env("CONTEND_ARCHIVE", "").stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{stderr}", output.status);
}
