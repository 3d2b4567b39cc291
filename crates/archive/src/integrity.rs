//! A file of a record, read with every hash on the way to it checked: Git checks them when it fetches or verifies, not
//! when it reads, and an archive is a folder that anybody may have had their hands in.

use crate::git::Git;
use crate::objects::{self, Header, MOST_BESIDE, is_hash};
use anyhow::{Context, ensure};

/// The file's bytes, `most` at most, from the commit that is named by its hash.
///
/// # Errors
/// Git cannot read it, it is larger, or something on the way is not what its hash says.
pub fn checked_file(git: &Git, commit: &str, file: &str, most: u64) -> anyhow::Result<Vec<u8>> {
    let content = checked(git, "commit", commit, MOST_BESIDE)?;
    let content = String::from_utf8_lossy(&content).into_owned();
    let tree = content.lines().next().and_then(|line| line.strip_prefix("tree ")).unwrap_or_default();
    checked(git, "tree", tree, MOST_BESIDE)?;
    let blob = header(git, format!("{tree}:{file}"))?.hash;
    checked(git, "blob", &blob, most)
}

fn checked(git: &Git, kind: &str, hash: &str, most: u64) -> anyhow::Result<Vec<u8>> {
    ensure!(is_hash(hash), "the name of its {kind} is no hash");
    let header = header(git, hash.to_owned())?;
    ensure!(header.kind == kind, "its {kind} {hash} is a {}", header.kind);
    ensure!(
        header.bytes <= most,
        "its {kind} {hash} is too large: {} bytes, and {most} are read at most",
        header.bytes
    );
    let content = git.local(&["cat-file", kind, hash], &[])?;
    let found = git.line(&["hash-object", "-t", kind, "--stdin", "--literally"], &content)?;
    ensure!(found == hash, "its {kind} {hash} was changed by hand: the hash of what is there is {found}");
    Ok(content)
}

fn header(git: &Git, name: String) -> anyhow::Result<Header> {
    let found = objects::headers(git, std::slice::from_ref(&name))?;
    found.into_iter().next().flatten().with_context(|| format!("{name} is not there"))
}
