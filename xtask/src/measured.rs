//! `cargo xtask measured`: the tests that measure, or that watch and start real programs.
//!
//! Their results depend on the machine, so `cargo test` omits them: their programs have `test = false` in their
//! manifests, and the few among unit tests are ignored and in a module `measured`. Each program has a line in its
//! manifest, `[package.metadata.measured.NAME]`, with what it needs and how many of its tests may run at once: never more
//! than there are CPUs, since a watched program that gets no CPU waits for that. The programs run one after the other. A
//! failed test runs once more, alone, after all others, and must pass then; where more than [`MOST_FAILURES`] failed,
//! nothing is repeated.

use crate::sbom::metadata;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub const USAGE: &str = "usage: cargo xtask measured [--list] [--program NAME]… [FILTER]…

Runs the tests that measure, or that watch real programs. Use a machine that does nothing else.
--list prints them with what they need; --program limits the run to a test program; a FILTER is a part of a test's name.
A failed test runs once more, alone, after all others.";

/// Failures up to which the failed tests are repeated, a twentieth of all: one disturbance, such as another machine on the
/// same CPUs, fails several tests that run then. Where more fail, a repetition would take long and change nothing.
const MOST_FAILURES: usize = 25;
/// A program that prints nothing for so long hangs: its longest test takes a minute on a busy machine.
const SILENCE: Duration = Duration::from_secs(600);
/// The module of unit tests that measure.
const MODULE: &str = "measured::";

/// A program of tests.
struct Program {
    package: String,
    name: String,
    folder: PathBuf,
    at_once: u64,
    needs: String,
    /// A program that `cargo test` runs, too: only the tests that are ignored there measure.
    is_unit: bool,
    executable: PathBuf,
}

struct Request {
    is_list: bool,
    programs: BTreeSet<String>,
    filters: Vec<String>,
}

impl Request {
    fn of(arguments: &[String]) -> anyhow::Result<Self> {
        let mut request = Self { is_list: false, programs: BTreeSet::new(), filters: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => request.is_list = true,
                "--program" => {
                    let name = arguments.next().with_context(|| format!("--program: no NAME\n{USAGE}"))?;
                    request.programs.insert(name.clone());
                }
                flag if flag.starts_with('-') => bail!("{flag}: no such flag\n{USAGE}"),
                filter => request.filters.push(filter.to_owned()),
            }
        }
        Ok(request)
    }
}

/// The results of a program's tests.
#[derive(Debug, Default, PartialEq)]
struct Results {
    passed: usize,
    failed: Vec<String>,
    /// The tests whose tool is missing, each with the line that says so.
    skipped: BTreeMap<String, String>,
}

/// Runs the tests.
///
/// # Errors
/// A program does not compile, or a test failed twice.
pub fn measured(arguments: &[String]) -> anyhow::Result<()> {
    let request = Request::of(arguments)?;
    let mut programs = built()?;
    if !request.programs.is_empty() {
        let known: BTreeSet<&String> = programs.iter().map(|program| &program.name).collect();
        let unknown = request.programs.iter().find(|name| !known.contains(name));
        ensure!(unknown.is_none(), "--program {}: there are {known:?}", unknown.map_or("", |name| name));
        programs.retain(|program| request.programs.contains(&program.name));
    }
    if request.is_list {
        return list(&programs, &request.filters);
    }
    let cpus = std::thread::available_parallelism()?.get() as u64;
    let (mut passed, mut failed, mut skipped) = (0, Vec::new(), BTreeMap::new());
    for program in &programs {
        let began = Instant::now();
        println!("\n== {} {}; needs {}", program.package, program.name, program.needs);
        let results = program.run(&request.filters, program.at_once.min(cpus), false)?;
        println!("   {:.0} s", began.elapsed().as_secs_f64());
        passed += results.passed;
        failed.extend(results.failed.into_iter().map(|test| (program, test)));
        skipped.extend(results.skipped);
    }
    let first_failures = failed.len();
    if (1..=MOST_FAILURES).contains(&first_failures) {
        println!("\n== once more, alone: {first_failures} failed");
        let mut again = Vec::new();
        for (program, test) in failed {
            let results = program.run(std::slice::from_ref(&test), 1, true)?;
            passed += results.passed;
            again.extend(results.failed.into_iter().map(|test| (program, test)));
        }
        failed = again;
    }
    println!();
    skipped.iter().for_each(|(test, reason)| println!("{test}: {reason}"));
    failed.iter().for_each(|(program, test)| println!("{}: {test}: FAILED", program.name));
    if first_failures > failed.len() {
        println!("{} of {first_failures} failed tests passed alone", first_failures - failed.len());
    }
    println!("{} passed, {} failed, {} skipped", passed - skipped.len(), failed.len(), skipped.len());
    ensure!(failed.is_empty(), "{} tests failed", failed.len());
    ensure!(passed > 0, "no test has such a name");
    Ok(())
}

fn list(programs: &[Program], filters: &[String]) -> anyhow::Result<()> {
    for program in programs {
        println!("{} {}: at once: {}; needs {}", program.package, program.name, program.at_once, program.needs);
        for test in program.tests()? {
            if filters.is_empty() || filters.iter().any(|filter| test.contains(filter.as_str())) {
                println!("    {test}");
            }
        }
    }
    Ok(())
}

/// Returns the names of the programs that the manifests declare.
///
/// # Errors
/// A manifest declares a program that `cargo test` runs, too.
pub fn names() -> anyhow::Result<Vec<String>> {
    Ok(declared(&metadata()?)?.into_iter().map(|program| program.name).collect())
}

/// Compiles the programs with the workspace's features, as `cargo test` does.
fn built() -> anyhow::Result<Vec<Program>> {
    let mut programs = declared(&metadata()?)?;
    let named: Vec<&str> = programs.iter().flat_map(|program| ["--test", &program.name]).collect();
    for (name, folder, executable) in executables(&named)? {
        let found = programs.iter_mut().find(|program| program.name == name && program.folder == folder);
        found.into_iter().for_each(|program| program.executable.clone_from(&executable));
    }
    let missing = programs.iter().find(|program| program.executable.as_os_str().is_empty());
    ensure!(missing.is_none(), "{}: not built", missing.map_or("", |program| &program.name));
    for (name, folder, executable) in executables(&["--tests"])? {
        let package = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let needs = "what its ignored tests say".to_owned();
        let program = Program { package, name, folder, at_once: 1, needs, is_unit: true, executable };
        if !program.tests()?.is_empty() {
            programs.push(program);
        }
    }
    Ok(programs)
}

/// Compiles test programs; returns their names, the directories of their packages, and their files.
fn executables(targets: &[&str]) -> anyhow::Result<Vec<(String, PathBuf, PathBuf)>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
    let output = crate::tool::output_of(cargo.args(targets))?;
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let executable = |message: Value| {
        let is_test = message["profile"]["test"] == true;
        let executable = message["executable"].as_str().filter(|_| is_test)?;
        let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        Some((message["target"]["name"].as_str()?.to_owned(), folder, executable.into()))
    };
    Ok(messages.filter_map(executable).collect())
}

/// Returns the programs that the manifests declare.
fn declared(metadata: &Value) -> anyhow::Result<Vec<Program>> {
    let mut programs = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
        for (name, declaration) in package["metadata"]["measured"].as_object().into_iter().flatten() {
            let package_name = package["name"].as_str().unwrap_or_default();
            let targets = package["targets"].as_array().into_iter().flatten();
            let mut of_name = targets.filter(|target| target["name"] == **name && target["kind"][0] == "test");
            let is_apart = of_name.any(|target| target["test"] == false);
            ensure!(is_apart, "{package_name}: metadata.measured.{name} is not a test program with `test = false`");
            programs.push(Program {
                package: package_name.to_owned(),
                name: name.clone(),
                folder: manifest.parent().context("a manifest is in a directory")?.to_path_buf(),
                at_once: declaration["at_once"].as_u64().with_context(|| format!("{name}: no at_once"))?,
                needs: declaration["needs"].as_str().with_context(|| format!("{name}: no needs"))?.to_owned(),
                is_unit: false,
                executable: PathBuf::new(),
            });
        }
    }
    ensure!(!programs.is_empty(), "no manifest declares a program");
    Ok(programs)
}

impl Program {
    /// Returns the command that runs tests as `cargo test` would.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        if self.is_unit {
            command.arg("--ignored");
        }
        command
    }

    fn tests(&self) -> anyhow::Result<Vec<String>> {
        let listed = crate::tool::output_of(self.command().args(["--list", "--format", "terse"]))?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.filter(|name| !self.is_unit || name.contains(MODULE)).map(str::to_owned).collect())
    }

    /// Runs the tests whose names contain a filter, or are one; prints a line for each, and the output of failed ones.
    fn run(&self, filters: &[String], at_once: u64, is_exact: bool) -> anyhow::Result<Results> {
        let mut command = self.command();
        command.args([&format!("--test-threads={at_once}"), "--show-output"]).args(filters);
        if is_exact {
            command.arg("--exact");
        } else if self.is_unit && filters.is_empty() {
            command.arg(MODULE);
        }
        let mut child =
            command.stdout(Stdio::piped()).spawn().with_context(|| self.executable.display().to_string())?;
        let (lines, is_hung) = read(&mut child, SILENCE, |line| {
            // A test prints a figure that it measured on a line of this kind.
            if line.starts_with("test ") || line.starts_with("seen: ") {
                println!("{line}");
            }
        });
        let status = child.wait()?;
        let mut results = parse(&lines);
        let is_told = !status.success() && !results.failed.is_empty();
        if let Some(failures) = lines.iter().position(|line| line == "failures:") {
            println!("{}", lines[failures..].join("\n"));
        }
        if is_hung || !(status.success() || is_told) {
            println!("{}", lines.join("\n"));
            let reason = if is_hung { "printed nothing for ten minutes".to_owned() } else { status.to_string() };
            println!("{}: {reason}", self.name);
            // Its output does not name the last test that began, so the whole program failed.
            results.failed.push(String::new());
        }
        Ok(results)
    }
}

/// Reads a program's output to its end; one that is silent for longer than the limit is killed.
fn read(child: &mut Child, limit: Duration, mut each: impl FnMut(&str)) -> (Vec<String>, bool) {
    let (sender, receiver) = channel();
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')).map_while(Result::ok);
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).try_for_each(|line| sender.send(line))
    });
    let mut lines = Vec::new();
    loop {
        match receiver.recv_timeout(limit) {
            Ok(line) => {
                each(&line);
                lines.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => {
                // It ends with the pipe.
                let _ = reader.join();
                return (lines, false);
            }
            Err(RecvTimeoutError::Timeout) => {
                // It may have ended by itself.
                let _ = child.kill();
                return (lines, true);
            }
        }
    }
}

/// Returns the results that the output of libtest names.
fn parse(lines: &[String]) -> Results {
    let mut results = Results::default();
    let mut told = None;
    for line in lines {
        if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... ")) {
            match outcome {
                "ok" => results.passed += 1,
                "FAILED" => results.failed.push(name.to_owned()),
                _ => {}
            }
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            told = Some(name.to_owned());
        } else if let Some(name) = told.as_ref().filter(|_| line.starts_with("skipped: needs ")) {
            results.skipped.insert(name.clone(), line.clone());
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn results_are_read_from_the_output_of_libtest() {
        let output = "running 3 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ok\n\nsuccesses:\n\n\
                      ---- d stdout ----\nskipped: needs java\n\nfailures:\n\n---- c stdout ----\nat x:1\n\nfailures:\n    c\n";
        let skipped = BTreeMap::from([("d".to_owned(), "skipped: needs java".to_owned())]);
        assert_eq!(parse(&lines(output)), Results { passed: 2, failed: vec!["c".into()], skipped });
    }

    #[test]
    fn declared_programs_are_those_that_cargo_test_leaves_out() {
        let of = |test: bool| {
            json!({"packages": [{"name": "p", "manifest_path": "/p/Cargo.toml",
                "metadata": {"measured": {"live": {"at_once": 4, "needs": "gcc"}}},
                "targets": [{"kind": ["test"], "name": "live", "test": test}]}]})
        };
        let programs = declared(&of(false)).unwrap();
        assert_eq!((programs[0].name.as_str(), programs[0].at_once, programs[0].needs.as_str()), ("live", 4, "gcc"));
        assert!(declared(&of(true)).is_err(), "cargo test runs it, too");
        assert!(declared(&json!({"packages": []})).is_err());
    }

    #[test]
    fn silent_program_is_ended() {
        let spawn = |script: &str| Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut silent = spawn("exec sleep 600");
        assert_eq!(read(&mut silent, Duration::from_millis(100), |_| {}), (Vec::new(), true));
        assert!(!silent.wait().unwrap().success());
        let mut whole = spawn("echo one; echo two");
        assert_eq!(read(&mut whole, SILENCE, |_| {}), (lines("one\ntwo"), false));
        assert!(whole.wait().unwrap().success());
    }
}
