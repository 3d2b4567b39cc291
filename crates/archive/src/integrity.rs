//! A file of a record, read with every hash on the way to it checked: Git checks them when it fetches or verifies, not
//! when it reads, and an archive is a folder that anybody may have had their hands in.

use crate::git::Git;
use anyhow::ensure;

/// The file's bytes, from the commit that is named by its hash.
///
/// # Errors
/// Git cannot read it, or something on the way is not what its hash says.
pub fn checked_file(git: &Git, commit: &str, file: &str) -> anyhow::Result<Vec<u8>> {
    let content = checked(git, "commit", commit)?;
    let content = String::from_utf8_lossy(&content).into_owned();
    let tree = content.lines().next().and_then(|line| line.strip_prefix("tree ")).unwrap_or_default();
    checked(git, "tree", tree)?;
    let blob = git.line(&["rev-parse", "--verify", &format!("{tree}:{file}")], &[])?;
    checked(git, "blob", &blob)
}

fn checked(git: &Git, kind: &str, hash: &str) -> anyhow::Result<Vec<u8>> {
    let content = git.local(&["cat-file", kind, hash], &[])?;
    let found = git.line(&["hash-object", "-t", kind, "--stdin", "--literally"], &content)?;
    ensure!(found == hash, "its {kind} {hash} was changed by hand: the hash of what is there is {found}");
    Ok(content)
}
