//! Git, run as a program on one bare repository.

use anyhow::{Context, bail};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Variables with which a caller (a hook of another repository, say) would point Git elsewhere.
const MISLEADING: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
];

/// The repository that commands are run on.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
}

impl Git {
    pub fn on(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a command answers that stays on this machine. The user's own settings do not reach it (a signature, a
    /// hook), nor does the Ctrl-C that ended the measurement whose record it keeps.
    ///
    /// # Errors
    /// No Git, or what it says.
    pub fn local(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut command = self.command(arguments);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").process_group(0);
        answer(command, arguments, input)
    }

    /// The same, as a line of text.
    ///
    /// # Errors
    /// As [`Self::local`].
    pub fn line(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        Ok(String::from_utf8(self.local(arguments, input)?)?.trim().to_owned())
    }

    /// What a command answers that talks to another repository: with the user's settings, keys and terminal.
    ///
    /// # Errors
    /// As [`Self::local`].
    pub fn remote(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        answer(self.command(arguments), arguments, &[])
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        MISLEADING.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.arg("--git-dir").arg(&self.folder).args(arguments).env("LC_ALL", "C");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "contend").env(format!("GIT_{role}_EMAIL"), "contend@localhost");
        }
        command
    }
}

fn answer(mut command: Command, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let output = exchange(&mut command, input).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!("git is not on the path; on Debian: apt-get install git"),
        _ => anyhow::Error::new(error).context("git cannot be run"),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        bail!("git {}: {} ({})", arguments[0], said.join("; "), output.status);
    }
    Ok(output.stdout)
}

/// Writes and reads at once: a pipe holds little, and either side may fill it first.
fn exchange(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take();
    std::thread::scope(|scope| {
        // Whoever does not read all of it says why when it ends.
        scope.spawn(move || stdin.take().map(|mut pipe| pipe.write_all(input)));
        child.wait_with_output()
    })
}

/// The next object of what `cat-file --batch` answers: `<hash> <kind> <bytes>`, a line's end, the bytes, a line's end.
pub fn next_object(answer: &mut &[u8]) -> Option<Vec<u8>> {
    let line = answer.iter().position(|byte| *byte == b'\n')?;
    let (head, rest) = answer.split_at(line);
    let bytes: usize = std::str::from_utf8(head).ok()?.rsplit_once(' ')?.1.parse().ok()?;
    let content = rest.get(1..=bytes)?;
    *answer = rest.get(bytes + 2..)?;
    Some(content.to_vec())
}

/// What a command says of the repository that the user stands in; `None` where there is none.
pub fn here(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// An empty bare repository, with settings that keep what was reported as kept through a power failure, and all of it.
///
/// # Errors
/// No Git, or a folder that cannot be made.
pub fn create(folder: &Path) -> anyhow::Result<()> {
    let git = Git::on(folder);
    git.local(&["init", "--bare", "--quiet"], &[]).context("no archive can be made")?;
    for (name, value) in [
        // Git's default leaves new loose objects and references to the page cache.
        ("core.fsync", "all"),
        ("fetch.fsckObjects", "true"),
        // Packing in the background would disturb the next measurement.
        ("gc.autoDetach", "false"),
    ] {
        git.local(&["config", name, value], &[])?;
    }
    Ok(())
}
