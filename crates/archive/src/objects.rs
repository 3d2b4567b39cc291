//! Objects of the store, asked for in one go and read one after another: what they are first, and only what is not too
//! large then. Whoever made them may have made them to be too large.
//!
//! [`checked_file`] reads a file of a record with every hash on the way to it checked: Git checks them when it fetches or
//! verifies, not when it reads, and an archive is a folder that anybody may have had their hands in.

use crate::git::Git;
use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader, Read};

/// The most that is read of a commit, a tree or a manifest.
pub const MOST_BESIDE: u64 = 1 << 20;

/// What is known of an object before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub hash: String,
    pub kind: String,
    pub bytes: u64,
}

/// Whether these are the digits of a whole hash: then they are nothing else to Git, no option and no expression.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// What the objects of these names are; `None` for one that is not there.
pub fn headers(git: &Git, names: &[String]) -> anyhow::Result<Vec<Option<Header>>> {
    let answer = git.local(&["cat-file", "--batch-check"], lines(names).as_bytes())?;
    let found: Vec<Option<Header>> = String::from_utf8_lossy(&answer).lines().map(header).collect();
    ensure!(found.len() == names.len(), "git cat-file: {} answers to {} requests", found.len(), names.len());
    Ok(found)
}

/// Gives the content of each of these objects to `take`, in their order, one at a time; or why it cannot be read.
pub fn contents(git: &Git, names: &[String], mut take: impl FnMut(usize, anyhow::Result<Vec<u8>>)) {
    let mut place = 0;
    // Git gives up at an object that is damaged; what comes after it is asked anew.
    while place < names.len() {
        let outcome = git.streamed(&["cat-file", "--batch"], lines(&names[place..]).as_bytes(), |stdout| {
            let mut answer = BufReader::new(stdout);
            while place < names.len() {
                take(place, Ok(next(&mut answer)?));
                place += 1;
            }
            Ok(())
        });
        if let Err(error) = outcome
            && place < names.len()
        {
            take(place, Err(error));
            place += 1;
        }
    }
}

/// `<hash> <kind> <bytes>`, a line's end, the bytes, a line's end.
fn next(answer: &mut impl BufRead) -> anyhow::Result<Vec<u8>> {
    let mut line = String::new();
    answer.take(MOST_BESIDE).read_line(&mut line)?;
    let head = header(line.trim_end()).context("the object is missing")?;
    let mut content = Vec::new();
    answer.take(head.bytes).read_to_end(&mut content)?;
    ensure!(content.len() as u64 == head.bytes, "the object is truncated: {} of {} bytes", content.len(), head.bytes);
    answer.read_exact(&mut [0])?;
    Ok(content)
}

fn header(line: &str) -> Option<Header> {
    let [hash, kind, bytes] = line.split(' ').collect::<Vec<&str>>()[..] else { return None };
    Some(Header { hash: hash.to_owned(), kind: kind.to_owned(), bytes: bytes.parse().ok()? })
}

fn lines(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}\n")).collect()
}

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
    for ((kind, name, most), header) in way.iter().zip(headers(git, &names)?) {
        hashes.push(readable(header.with_context(|| format!("{name} is missing"))?, kind, *most)?);
    }
    let mut contents = Vec::new();
    self::contents(git, &hashes, |place, content| {
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
