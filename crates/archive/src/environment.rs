//! The environment of a Git process that works for the archive: no variables of Git except those listed here, and
//! settings that prevent it from running other programs.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Variables that control access to other repositories and the messages of it; they do not affect the archive.
const FOR_REMOTES: &[&str] = &[
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_HTTP_LOW_SPEED_LIMIT",
    "GIT_HTTP_LOW_SPEED_TIME",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_HTTP_USER_AGENT",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_PROXY_COMMAND",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_PROXY_SSL_CERT",
    "GIT_PROXY_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_PROXY_SSL_KEY",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_SSL_CIPHER_LIST",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_SSL_VERSION",
    "GIT_TERMINAL_PROMPT",
];

/// Settings that override every settings file.
const SETTINGS: &[&str] = &["core.hooksPath=/dev/null", "core.fsmonitor=false"];
/// A fetched object that is too large for a record is streamed to the disk.
///
/// One malformed object must not end the whole fetch; it is found where the archive takes it.
const SETTINGS_FOR_REMOTES: &[&str] = &["core.bigFileThreshold=16m", "fetch.fsckObjects=false"];

/// Returns a `git` that stays on this machine and in this repository.
///
/// It reads no settings of the user (a signature, a hook), and requests no missing object from a remote.
pub fn local() -> Command {
    let mut command = alone(&[]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// Returns a `git` for the repository of the working directory: the user's settings decide whether it is trusted.
pub fn here() -> Command {
    alone(&["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"])
}

fn alone(kept: &[&str]) -> Command {
    let mut command = bare(kept);
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "").env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// Returns a `git` that talks to another repository, with the user's settings, keys and terminal.
pub fn remote() -> Command {
    let mut command = bare(FOR_REMOTES);
    SETTINGS_FOR_REMOTES.iter().for_each(|setting| _ = command.args(["-c", setting]));
    command
}

/// Returns the absolute elements of PATH.
///
/// Another user may be able to write to the directory in which a relative one leads to a program called git.
fn absolute_elements_of_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

/// Returns the file of Git, or a path that does not exist.
fn found(folders: &[PathBuf]) -> PathBuf {
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    let found = folders.iter().map(|folder| folder.join("git")).find(is_program);
    found.unwrap_or_else(|| PathBuf::from("/nonexistent/git"))
}

fn bare(kept: &[&str]) -> Command {
    let folders = absolute_elements_of_path();
    let mut command = Command::new(found(&folders));
    // Git searches this path for the programs that it starts.
    command.envs(env::join_paths(&folders).ok().map(|path| ("PATH", path)));
    let is_gits = |name: &OsStr| name.as_bytes().starts_with(b"GIT_");
    let is_kept = |name: &OsStr| kept.iter().any(|kept| name == *kept);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_gits(name) && !is_kept(name)) {
        command.env_remove(name);
    }
    SETTINGS.iter().for_each(|setting| _ = command.args(["-c", setting]));
    // No replacement objects are used.
    command.env("LC_ALL", "C").env("GIT_NO_REPLACE_OBJECTS", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "contend").env(format!("GIT_{role}_EMAIL"), "contend@localhost");
    }
    command
}
