//! Commands that are separate programs: found in contend's directory and then in PATH, and executed.

use crate::command::executable;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A script that prints its name, its process and its arguments, and ends with its own status.
const SCRIPT: &str = "#!/bin/sh\necho \"NAME $$\"\nfor word in \"$@\"; do printf '<%s>' \"$word\"; done\nexit 42\n";

/// A directory with contend and without the other programs of the build.
struct Installed(TempDir);

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::create_dir(folder.path().join("path")).unwrap();
        fs::hard_link(env!("CARGO_BIN_EXE_contend"), folder.path().join("bin/contend")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Adds a program to this directory that prints this name.
    fn with(self, folder: &str, name: &str) -> Self {
        let file = self.path(folder).join("contend-serve");
        executable(&file, SCRIPT.replace("NAME", name));
        self
    }

    fn command(&self, path: &OsStr) -> Command {
        let mut command = Command::new(self.path("bin/contend"));
        command.env("PATH", path).env("CONTEND_ARCHIVE", "").current_dir(self.path("path"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn contend(&self, arguments: &[&str]) -> Output {
        self.command(self.path("path").as_os_str()).args(arguments).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn program_next_to_contend_precedes_one_on_the_path() {
    let both = Installed::new().with("bin", "beside").with("path", "on the path");
    assert!(text(&both.contend(&["serve"]).stdout).starts_with("beside "));
    let one = Installed::new().with("path", "on the path");
    assert!(text(&one.contend(&["serve"]).stdout).starts_with("on the path "));
}

/// Its flags may have the names of contend's, and its words may be other than text.
#[test]
fn contend_executes_the_program_with_unchanged_arguments() {
    let installed = Installed::new().with("bin", "is");
    let mut command = installed.command(OsStr::new("/usr/bin:/bin"));
    command.args(["serve", "--quiet", "--archive", "a b", "--help", ""]).arg(OsStr::from_bytes(b"\xff"));
    let child = command.spawn().unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(42));
    let name = [format!("is {id}\n").as_bytes(), b"<--quiet><--archive><a b><--help><><\xff>"].concat();
    assert_eq!(text(&output.stdout), text(&name));
}

#[test]
fn missing_program_is_named_with_the_command_that_installs_it() {
    let output = Installed::new().contend(&["serve", "--listen", "127.0.0.1:0"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(output.stdout.is_empty());
    for word in ["contend-serve", "`cargo install --locked --path crates/remote`"] {
        assert!(stderr.contains(word), "{stderr}");
    }
}

#[test]
fn help_of_a_missing_program_is_printed() {
    let output = Installed::new().contend(&["serve", "--help"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let help: Vec<String> = text(&output.stdout).split_whitespace().map(str::to_owned).collect();
    assert!(help.join(" ").contains("cargo install --locked --path crates/remote"), "{help:?}");
}

#[test]
fn flags_before_the_program_name_are_refused() {
    let output = Installed::new().with("bin", "is").contend(&["--quiet", "serve"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("after its name") && output.stdout.is_empty());
}

/// The working directory does not belong to the path, however the path is written.
#[test]
fn a_relative_element_of_the_path_is_not_searched() {
    let installed = Installed::new().with("path", "here");
    for path in ["", ".", ":/nowhere"] {
        let output = installed.command(OsStr::new(path)).arg("serve").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{path:?}: {}", text(&output.stdout));
    }
    assert!(Path::new(&installed.path("path/contend-serve")).exists());
}

/// A directory or a file that cannot be run is not the program.
#[test]
fn only_a_file_that_can_be_run_is_the_program() {
    let installed = Installed::new().with("path", "on the path");
    fs::create_dir(installed.path("bin/contend-serve")).unwrap();
    assert!(text(&installed.contend(&["serve"]).stdout).starts_with("on the path "));
    fs::remove_dir(installed.path("bin/contend-serve")).unwrap();
    fs::write(installed.path("bin/contend-serve"), "text").unwrap();
    assert!(text(&installed.contend(&["serve"]).stdout).starts_with("on the path "));
}
