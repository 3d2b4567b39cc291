//! Git revisions, each built in its own worktree. The worktrees are removed when they are dropped; those of a killed
//! run are removed by the next run in the same repository.

use anyhow::Context;
use harness::{Interruption, UsageError};
use instruments::helper;
use launch::{Failed, Scene};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// The worktrees of all revisions.
pub struct Worktrees {
    pub revisions: Vec<Revision>,
    repository: PathBuf,
    /// Removed after the worktrees in it.
    _root: TempDir,
    /// Locked while this process lives, so that another one does not take the worktrees for left ones.
    _claim: File,
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
/// The begin of the name of the directory with the worktrees.
const PREFIX: &str = "contend-ab-";
/// Variables that make Git work on another repository, index or worktree than those of the directory that it runs in.
/// A hook has them: Git would change the user's index from a new worktree.
pub const OF_REPOSITORY: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

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
        remove_left(&repository);
        let root = TempDir::with_prefix(PREFIX).context("--revisions: cannot create a directory")?;
        let claim = File::open(root.path()).context("--revisions: cannot open a directory")?;
        // Where the file system has no locks, worktrees of a killed run stay.
        let _ = flock(&claim, FlockOperation::NonBlockingLockExclusive);
        let mut worktrees = Self { revisions: Vec::new(), repository, _root: root, _claim: claim };
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
        // A worktree that was not added yet cannot be removed.
        self.revisions
            .iter()
            .flat_map(|revision| &revision.directories)
            .for_each(|path| remove(&self.repository, path));
    }
}

/// Removes one worktree. `git worktree prune` would also remove the state of the user's worktrees whose directories are
/// not there at the moment, such as those on a disk that is not mounted.
///
/// The option is given twice for a worktree that Git has locked while it created it.
fn remove(repository: &Path, worktree: &Path) {
    let _ = git(repository, &["worktree", "remove", "--force", "--force", &worktree.to_string_lossy()]);
}

/// Removes the worktrees of runs that were killed: those in a directory of this user that has the name of such a
/// directory, and that no living run has locked.
fn remove_left(repository: &Path) {
    let listed = git(repository, &["worktree", "list", "--porcelain"]).unwrap_or_default();
    for path in listed.lines().filter_map(|line| line.strip_prefix("worktree ")).map(Path::new) {
        let Some(root) = root_of(path) else { continue };
        let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if !fs::symlink_metadata(root).is_ok_and(is_own) {
            continue;
        }
        let Ok(claim) = File::open(root) else { continue };
        if flock(&claim, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(repository, path);
            // It is empty when its last worktree is gone.
            let _ = fs::remove_dir(root);
        }
    }
}

/// Returns the directory of a run's worktrees, of one of these worktrees.
fn root_of(worktree: &Path) -> Option<&Path> {
    let (number, root) = (worktree.file_name()?.to_str()?, worktree.parent()?);
    let (place, build) = number.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let random = root.file_name().and_then(OsStr::to_str)?.strip_prefix(PREFIX)?;
    let is_random = random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_number(place) && is_number(build) && is_random && worktree.is_absolute()).then_some(root)
}

fn run_build(
    build: &str,
    revision: &str,
    directory: &Path,
    seed: u64,
    interruption: &Interruption,
) -> anyhow::Result<()> {
    let mut command = helper::shell(build)?;
    OF_REPOSITORY.iter().for_each(|name| _ = command.env_remove(name));
    command.current_dir(directory).env(SEED, seed.to_string());
    Scene::default().run(command, None, interruption)?.map(drop).map_err(|failed: Failed| {
        anyhow::anyhow!("--build at {revision} {}; last line of its output: {}", failed.how, failed.last_line())
    })
}

/// Returns the output of Git, or its error. It runs in a process group without the terminal's signals, so that Ctrl-C
/// does not end it halfway.
fn git(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    use std::os::unix::process::CommandExt;

    let failed = |error: std::io::Error| format!("git: {}", blame::names::message(&error));
    let mut command = helper::command("git").map_err(|error| error.to_string())?;
    OF_REPOSITORY.iter().for_each(|name| _ = command.env_remove(name));
    // A collection of garbage prunes worktrees, too.
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-C"]).arg(directory).args(arguments);
    let output = command.stdin(Stdio::null()).process_group(0).output().map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_worktrees_of_runs_have_a_root() {
        assert_eq!(root_of(Path::new("/tmp/contend-ab-aB3xY9/0-12")), Some(Path::new("/tmp/contend-ab-aB3xY9")));
        for other in [
            "/tmp/contend-ab-aB3xY9",
            "/tmp/contend-ab-aB3xY9/mine",
            "/tmp/contend-ab-aB3xY9/0-",
            "/tmp/contend-ab-old/0-0",
            "/home/me/usb",
            "contend-ab-aB3xY9/0-0",
            "/0-0",
        ] {
            assert_eq!(root_of(Path::new(other)), None, "{other}");
        }
    }
}
