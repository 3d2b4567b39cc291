//! Names for records that other records are compared with.
//!
//! A baseline is a commit without files under `refs/baselines/<name>`, and its parents are the records. A repository
//! that fetches the baseline therefore has its records too, and a record that it names is never pruned. A baseline is
//! the only thing in an archive that is replaced: a name means the records that were last given to it.

use crate::claim::Claim;
use crate::git::Git;
use crate::listing::{self, Entry, RECORDS, Reference, short};
use crate::objects::{self, MOST_BESIDE, is_hash};
use anyhow::{Context, bail, ensure};
use std::collections::HashMap;
use std::path::Path;

pub const BASELINES: &str = "refs/baselines/";
/// The reference to the baseline in use.
const USED: &str = "refs/baseline";
/// The longest name of a baseline, in bytes.
const LONGEST_NAME: usize = 100;
/// A tree without files, in both hash algorithms.
const NO_FILES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

/// The records under one name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Baseline {
    pub name: String,
    /// The names of the records, in the order given.
    pub records: Vec<String>,
    pub saved_unix_s: u64,
    /// Whether a comparison that names no baseline uses this one.
    pub is_used: bool,
}

/// Checks that a baseline may have this name, which must be valid for files and branches and in any shell.
pub fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let is_allowed = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(is_plain)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && !name.ends_with(".lock")
        && !name.contains("..");
    ensure!(
        is_allowed,
        "{name:?}: not a valid name for a baseline; allowed: at most {LONGEST_NAME} letters, digits, dots, hyphens \
         and underscores, starting with a letter, a digit or an underscore"
    );
    Ok(())
}

/// The baselines of an archive.
pub struct Baselines<'a> {
    git: &'a Git,
    _claim: Option<Claim>,
}

impl<'a> Baselines<'a> {
    pub(crate) fn of(git: &'a Git, claim: Option<Claim>) -> Self {
        Self { git, _claim: claim }
    }

    /// Returns the readable baselines by name, if the archive has their records, and the reason for each unreadable
    /// one.
    pub fn all(&self, entries: &[Entry]) -> anyhow::Result<(Vec<Baseline>, Vec<String>)> {
        let used = self.used();
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (name, found) in commits(self.git)? {
            match found.and_then(|(records, saved_unix_s)| {
                ensure!(are_all_among(&records, entries), "names an object that is not a record of this archive");
                Ok(Baseline { is_used: used.as_deref() == Some(&name), name: name.clone(), records, saved_unix_s })
            }) {
                Ok(baseline) => good.push(baseline),
                Err(why) => bad.push(format!("{BASELINES}{name}: {why:#}")),
            }
        }
        Ok((good, bad))
    }

    /// Gives the name to these records, whatever it meant before.
    ///
    /// # Errors
    /// The name is not allowed, there are no records, one of them was deleted, or Git fails.
    pub fn save(&self, name: &str, records: &[&str]) -> anyhow::Result<()> {
        check_name(name)?;
        ensure!(!records.is_empty(), "baseline {name}: no records given; name at least one");
        let _no_other_deletes_them = Claim::naming(self.git.folder());
        let present = listing::references(self.git)?;
        let deleted = records.iter().find(|record| !present.iter().any(|reference| reference.hash == **record));
        if let Some(record) = deleted {
            bail!("record {}: deleted by another process; the baseline {name} was not saved", short(record));
        }
        let tree = self.git.line(&["mktree"], &[])?;
        let mut arguments = vec!["commit-tree", &tree];
        records.iter().for_each(|record| arguments.extend(["-p", record]));
        let commit = self.git.line(&arguments, format!("baseline {name}\n").as_bytes())?;
        self.git.local(&["update-ref", &reference(name), &commit], &[]).map(drop)
    }

    /// Makes this baseline the default for comparisons that name none.
    pub fn set_used(&self, name: &str) -> anyhow::Result<()> {
        check_name(name)?;
        self.git.local(&["symbolic-ref", USED, &reference(name)], &[]).map(drop)
    }

    fn used(&self) -> Option<String> {
        let reference = self.git.line(&["symbolic-ref", "--quiet", USED], &[]).ok()?;
        reference.strip_prefix(BASELINES).map(str::to_owned)
    }

    /// Removes the name; the records stay.
    pub fn remove(&self, name: &str) -> anyhow::Result<()> {
        if self.used().as_deref() == Some(name) {
            self.git.local(&["symbolic-ref", "--delete", USED], &[])?;
        }
        self.git.local(&["update-ref", "--no-deref", "-d", &reference(name)], &[]).map(drop)
    }

    /// Returns the refspecs that push all baselines.
    pub(crate) fn pushed(&self, entries: &[Entry]) -> anyhow::Result<Vec<String>> {
        Ok(self.all(entries)?.0.iter().map(|baseline| refspec(&baseline.name)).collect())
    }

    /// Writes a baseline and its records into a file that a pull reads.
    pub fn export(&self, baseline: &Baseline, file: &Path) -> anyhow::Result<()> {
        let Some(place) = file.to_str() else { bail!("{}: the path is not UTF-8", file.display()) };
        let records: String = baseline.records.iter().map(|record| format!("{RECORDS}{record}\n")).collect();
        let references = records + &reference(&baseline.name) + "\n";
        self.git.local(&["bundle", "create", "--quiet", place, "--stdin"], references.as_bytes()).map(drop)
    }

    /// Takes the baselines of `incoming` that were saved later than the local ones of the same name, and whose records
    /// are all here; returns their names.
    pub(crate) fn take_newer(&self, incoming: &Git, entries: &[Entry]) -> anyhow::Result<Vec<String>> {
        let local = commits(self.git)?.into_iter().filter_map(|(name, found)| Some((name, found.ok()?.1)));
        let local: HashMap<String, u64> = local.collect();
        let is_newer = |name: &String, (records, saved): &Commit| {
            are_all_among(records, entries) && local.get(name).is_none_or(|local_saved| saved > local_saved)
        };
        let remote = commits(incoming)?.into_iter().filter_map(|(name, found)| Some((name, found.ok()?)));
        let newer: Vec<String> = remote.filter(|(name, found)| is_newer(name, found)).map(|(name, _)| name).collect();
        if !newer.is_empty() {
            let references: Vec<String> = newer.iter().map(|name| refspec(name)).collect();
            self.git.take(incoming, &(references.join("\n") + "\n"))?;
        }
        Ok(newer)
    }
}

fn reference(name: &str) -> String {
    format!("{BASELINES}{name}")
}

/// Returns the refspec of a push or fetch that replaces the existing baseline.
fn refspec(name: &str) -> String {
    format!("+{BASELINES}{name}:{BASELINES}{name}")
}

fn are_all_among(records: &[String], entries: &[Entry]) -> bool {
    records.iter().all(|record| entries.iter().any(|entry| entry.id == *record))
}

type Commit = (Vec<String>, u64);

/// Returns the records and the time of each baseline with a valid name, or the reason why it cannot be read.
fn commits(git: &Git) -> anyhow::Result<Vec<(String, anyhow::Result<Commit>)>> {
    let named: Vec<(String, String)> = listing::below(git, BASELINES)?
        .into_iter()
        .filter(|reference| is_hash(&reference.hash))
        .filter_map(|reference| Some((name_of(&reference)?, reference.hash)))
        .collect();
    let hashes: Vec<String> = named.iter().map(|(_, hash)| hash.clone()).collect();
    let is_small = |header: &Option<objects::Header>| {
        header.as_ref().is_some_and(|header| header.kind == "commit" && header.bytes <= MOST_BESIDE)
    };
    let small: Vec<bool> = objects::headers(git, &hashes)?.iter().map(is_small).collect();
    let read: Vec<String> =
        hashes.iter().zip(&small).filter(|(_, small)| **small).map(|(hash, _)| hash.clone()).collect();
    let mut contents = HashMap::new();
    objects::contents(git, &read, |place, content| {
        contents.insert(read[place].clone(), content.map_err(|error| format!("{error:#}")));
    });
    let commit = |(name, hash): (String, String)| {
        let found = match contents.get(&hash) {
            Some(Ok(content)) => parsed(&String::from_utf8_lossy(content)),
            Some(Err(why)) => Err(anyhow::anyhow!("{why}")),
            None => Err(anyhow::anyhow!("points to an object that is not the commit of a baseline")),
        };
        (name, found)
    };
    Ok(named.into_iter().map(commit).collect())
}

fn name_of(reference: &Reference) -> Option<String> {
    let name = str::from_utf8(reference.name.strip_prefix(BASELINES.as_bytes())?).ok()?;
    check_name(name).ok().map(|()| name.to_owned())
}

/// Parses a commit: `tree`, a `parent` for each record, and the time in the line of the committer.
fn parsed(commit: &str) -> anyhow::Result<Commit> {
    let head = commit.split("\n\n").next().unwrap_or_default();
    let of = |field: &'static str| head.lines().filter_map(move |line| line.strip_prefix(field)?.strip_prefix(' '));
    ensure!(of("tree").all(|tree| NO_FILES.contains(&tree)), "contains files; a baseline has none");
    let records: Vec<String> = of("parent").map(str::to_owned).collect();
    ensure!(!records.is_empty(), "names no records");
    let saved = of("committer").next().and_then(|line| line.rsplit(' ').nth(1)?.parse().ok());
    Ok((records, saved.context("has no date")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_name_must_be_valid_for_files_and_branches() {
        for good in ["main", "v1.0", "release_2-rc1", "_x", "7"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", ".x", "a b", "a/b", "a..b", "a.lock", "a.", "ä", "@{u}", "a~1", &"a".repeat(101)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn commit_with_files_or_without_records_is_not_a_baseline() {
        let commit = |tree: &str, parents: &str| {
            format!("tree {tree}\n{parents}author a <b> 1 +0000\ncommitter a <b> 17 +0000\n\nbaseline x\n\nparent 9\n")
        };
        let found = parsed(&commit(NO_FILES[0], "parent a1\nparent b2\n")).unwrap();
        assert_eq!(found, (vec!["a1".to_owned(), "b2".to_owned()], 17));
        assert!(parsed(&commit(NO_FILES[0], "")).is_err());
        assert!(parsed(&commit("1234", "parent a1\n")).is_err());
    }
}
