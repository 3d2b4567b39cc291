//! Git revisions, each built in its own worktree. The worktrees are removed when they are dropped, however that comes.

use anyhow::Context;
use harness::{Interruption, UsageError};
use launch::{Failed, Scene};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The worktrees of all revisions.
pub struct Worktrees {
    pub revisions: Vec<Revision>,
    repository: PathBuf,
    /// Removed after the worktrees in it.
    _root: TempDir,
}

/// A revision and its worktrees, one for each build.
pub struct Revision {
    /// The revision as the user calls it.
    pub name: String,
    pub commit: String,
    pub directories: Vec<PathBuf>,
}

/// The variable that differs from build to build of a revision.
const SEED: &str = "CONTEND_BUILD_SEED";

impl Worktrees {
    /// Checks the revisions out, and builds them.
    ///
    /// # Errors
    /// This is not a Git repository; a revision that it does not have; a build that fails; a signal asks to end.
    pub fn of(
        names: &[String],
        build: Option<&str>,
        builds: usize,
        seed: u64,
        interruption: &Interruption,
    ) -> anyhow::Result<Self> {
        let repository = git(Path::new("."), &["rev-parse", "--show-toplevel"]);
        let repository =
            repository.map_err(|why| UsageError(format!("--revisions: not in a Git repository: {why}")))?;
        let repository = PathBuf::from(repository);
        let mut commits = Vec::new();
        for name in names {
            let commit = git(
                &repository,
                &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")],
            );
            commits.push(commit.map_err(|_| UsageError(format!("--revisions {name}: unknown revision")))?);
        }
        let root = TempDir::with_prefix("contend-ab-").context("--revisions: cannot create a directory")?;
        let mut worktrees = Self { revisions: Vec::new(), repository, _root: root };
        for (place, (name, commit)) in names.iter().zip(&commits).enumerate() {
            let paths = (0..builds).map(|number| worktrees._root.path().join(format!("{place}-{number}")));
            let directories: Vec<PathBuf> = paths.collect();
            worktrees.revisions.push(Revision { name: name.clone(), commit: commit.clone(), directories });
        }
        for revision in &worktrees.revisions {
            for (number, directory) in revision.directories.iter().enumerate() {
                let path = directory.to_str().context("--revisions: a path that is not UTF-8")?;
                git(&worktrees.repository, &["worktree", "add", "--quiet", "--detach", path, &revision.commit])
                    .map_err(|why| anyhow::anyhow!("--revisions {}: {why}", revision.name))?;
                if let Some(build) = build {
                    let seed = seed.wrapping_add(number as u64);
                    run_build(build, &revision.name, directory, seed, interruption)?;
                }
            }
        }
        Ok(worktrees)
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        for directory in self.revisions.iter().flat_map(|revision| &revision.directories) {
            // A worktree that was not added yet cannot be removed.
            let _ = git(&self.repository, &["worktree", "remove", "--force", &directory.to_string_lossy()]);
        }
        let _ = git(&self.repository, &["worktree", "prune"]);
    }
}

fn run_build(
    build: &str,
    revision: &str,
    directory: &Path,
    seed: u64,
    interruption: &Interruption,
) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(build).current_dir(directory).env(SEED, seed.to_string());
    Scene::default().run(command, None, interruption)?.map(drop).map_err(|failed: Failed| {
        anyhow::anyhow!("--build at {revision} {}; last line of its output: {}", failed.how, failed.last_line())
    })
}

/// Returns the output of Git, or its error. It runs in a process group without the terminal's signals, so that Ctrl-C
/// does not end it halfway.
fn git(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    use std::os::unix::process::CommandExt;

    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments).stdin(Stdio::null()).process_group(0);
    let output = command.output().map_err(|error| format!("git: {}", blame::names::message(&error)))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
