//! Objects of the store, asked for in one go and read one after another: what they are first, and only what is not too
//! large then. Whoever made them may have made them to be too large.

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
