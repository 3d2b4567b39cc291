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
    ensure!(is_hash(commit), "its name is not a hash");
    let way = [
        ("commit", commit.to_owned(), MOST_BESIDE),
        ("tree", format!("{commit}:"), MOST_BESIDE),
        ("blob", format!("{commit}:{file}"), most),
    ];
    let names = way.each_ref().map(|(_, name, _)| name.clone());
    let mut hashes = Vec::new();
    for ((kind, name, most), header) in way.iter().zip(objects::headers(git, &names)?) {
        hashes.push(readable(header.with_context(|| format!("{name} is missing"))?, kind, *most)?);
    }
    let mut contents = Vec::new();
    objects::contents(git, &hashes, |place, content| {
        contents.push(content.and_then(|content| of_this_hash(git, way[place].0, &hashes[place], content)));
    });
    let contents = contents.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let [text, _, content]: [Vec<u8>; 3] = contents.try_into().ok().context("Git returned only a part of it")?;
    // Git found the tree by the same commit; that this is the commit's is known only now that its hash is.
    ensure!(
        text.starts_with(format!("tree {}\n", hashes[1]).as_bytes()),
        "its tree is not the one that its commit names"
    );
    Ok(content)
}

fn readable(header: Header, kind: &str, most: u64) -> anyhow::Result<String> {
    let Header { hash, kind: found, bytes } = header;
    ensure!(found == kind, "its {kind} {hash} has type {found}");
    ensure!(bytes <= most, "its {kind} {hash} is too large: {bytes} bytes; allowed: {most}");
    Ok(hash)
}

fn of_this_hash(git: &Git, kind: &str, hash: &str, content: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let found = git.line(&["hash-object", "-t", kind, "--stdin", "--literally"], &content)?;
    ensure!(found == hash, "its {kind} {hash} was modified: its content has the hash {found}");
    Ok(content)
}
