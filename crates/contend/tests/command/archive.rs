//! An archive whose records are written by a test.

use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The quickest of records: computed, not measured.
const RUN: &[&str] = &["model", "frames", "--frame", "1ms", "--quantum", "1ms", "--format", "json", "--quiet"];

pub struct Archive {
    folder: TempDir,
    pub path: PathBuf,
    /// The machine that inserted records come from; this one, if it is empty.
    pub host: String,
    written: u64,
}

pub fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok();
    if !found {
        println!("skipped: needs git");
    }
    found
}

impl Archive {
    /// Creates an archive with one record of `contend model frames`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = Self { path: folder.path().join("archive.git"), folder, host: String::new(), written: 0 };
        archive.keep();
        archive
    }

    /// Runs the command, which archives a record.
    pub fn keep(&self) {
        assert!(self.contend(RUN).status.success());
    }

    pub fn contend(&self, arguments: &[&str]) -> Output {
        super::held::reports();
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args(arguments).env("CONTEND_ARCHIVE", &self.path).output().expect("the binary starts")
    }

    /// Writes a file next to the archive.
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn git(&self, arguments: &[&str], input: &str) -> String {
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(&self.path).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
        }
        let mut child = git.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the first record's hash.
    pub fn first(&self) -> String {
        let all = self.git(&["for-each-ref", "--format=%(objectname)", "refs/records"], "");
        all.lines().next().unwrap().to_owned()
    }

    /// Archives a record as a run would have done, an hour after the last one.
    pub fn insert(&mut self, record: &Value) -> String {
        let mut record = record.clone();
        record["environment"]["seed"] = json!(self.written + 1);
        record["environment"]["started_unix_s"] = json!(1_700_000_000 + 3_600 * (self.written + 1));
        self.insert_bytes(&(record.to_string() + "\n"))
    }

    /// Archives a record byte for byte, as the newest.
    pub fn insert_bytes(&mut self, content: &str) -> String {
        self.written += 1;
        let first = self.first();
        let message = self.git(&["show", "--no-patch", "--format=%b", &first], "");
        let mut summary: Value = serde_json::from_str(&message).unwrap();
        let record: Value = serde_json::from_str(content).unwrap();
        summary["experiment"] = record["experiment"].clone();
        for field in ["seed", "started_unix_s", "command_line", "interrupted"] {
            summary[field] = record["environment"][field].clone();
        }
        summary["kept_unix_ns"] = json!(4_000_000_000_000_000_000_u64 + self.written);
        let blob = self.git(&["hash-object", "-w", "--stdin"], content);
        let mut manifest: Value =
            serde_json::from_str(&self.git(&["show", &format!("{first}:manifest.json")], "")).unwrap();
        if !self.host.is_empty() {
            summary["host"] = json!(self.host);
            manifest["host"] = json!(self.host);
        }
        let manifest = self.git(&["hash-object", "-w", "--stdin"], &manifest.to_string());
        let tree = format!("100644 blob {manifest}\tmanifest.json\n100644 blob {blob}\trecord.json\n");
        let tree = self.git(&["mktree"], &tree);
        let id = self.git(&["commit-tree", &tree], &format!("a record\n\n{summary}\n"));
        self.git(&["update-ref", &format!("refs/records/{id}"), &id], "");
        id
    }
}
