//! Objects of the store, requested together and read one after another: first their headers, then only those that are
//! not too large. Their author may have made them too large on purpose.
//!
//! [`checked_file`] reads a file of a record and checks every hash on the path to it. Git checks the hashes when it
//! fetches or verifies, not when it reads, and the files of an archive may have been modified by any program.

use crate::git::Git;
use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader, Read};

/// The maximum size that is read of a commit, a tree or a manifest.
pub const MOST_BESIDE: u64 = 1 << 20;

/// The properties of an object that are known before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub hash: String,
    pub kind: String,
    pub bytes: u64,
}

/// Returns whether these are the digits of a whole hash, which Git takes neither for an option nor for an expression.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the headers of the objects with these names; `None` for a missing one.
pub fn headers(git: &Git, names: &[String]) -> anyhow::Result<Vec<Option<Header>>> {
    let answer = git.local(&["cat-file", "--batch-check"], lines(names).as_bytes())?;
    let found: Vec<Option<Header>> = String::from_utf8_lossy(&answer).lines().map(header).collect();
    ensure!(found.len() == names.len(), "git cat-file: {} answers to {} requests", found.len(), names.len());
    Ok(found)
}

/// Passes the content of each of these objects to `take`, in their order, one at a time; or the reason why it cannot be
/// read.
pub fn contents(git: &Git, names: &[String], mut take: impl FnMut(usize, anyhow::Result<Vec<u8>>)) {
    let mut place = 0;
    // Git stops at a damaged object; the objects after it are requested again.
    // It ends: each turn is an object of the list or an error, which is one, too.
    while place < names.len() {
        let outcome = git.streamed(&["cat-file", "--batch"], lines(&names[place..]).as_bytes(), |stdout| {
            let mut answer = BufReader::new(stdout);
            // It ends: the list is gone through once.
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

/// Reads `<hash> <kind> <bytes>`, a line end, the bytes, a line end.
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

/// Returns the file's bytes, at most `most`, from the commit that is named by its hash.
///
/// # Errors
/// Git cannot read it, it is larger, or an object on the path does not match its hash.
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
    // Git found the tree through the same commit, whose content is known to be right only now that its hash is checked.
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
