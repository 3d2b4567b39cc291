//! The archive: opened or made, appended to, listed, read, checked.

use crate::claim::Claim;
use crate::git::{self, Git};
use crate::integrity;
use crate::manifest::Manifest;
use crate::stale;
use crate::summary::{Entry, Summary};
use anyhow::{Context, bail, ensure};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the references are: one for each record, named by the hash that it points to.
const RECORDS: &str = "refs/records/";
const RECORD_FILE: &str = "record.json";
const MANIFEST_FILE: &str = "manifest.json";
/// A file in the repository that says whose it is, and with which layout.
const MARK_FILE: &str = "contend-archive";
const LAYOUT: &str = "1";

/// An archive of records.
#[derive(Clone, Debug)]
pub struct Archive {
    git: Git,
}

impl Archive {
    /// The archive in this folder.
    ///
    /// # Errors
    /// There is none, or something else.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let place = folder.display();
        let found = fs::metadata(folder).with_context(|| format!("{place}: no archive"))?;
        ensure!(found.is_dir(), "{place}: not an archive of contend but a file; name another with --archive");
        let mark = match fs::read_to_string(folder.join(MARK_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
                "{place}: not an archive of contend (it has no file {MARK_FILE}); nothing in it was touched; name another \
                 with --archive"
            ),
            read => read.with_context(|| format!("{place}: the archive cannot be read"))?,
        };
        let layout = mark.trim();
        ensure!(
            layout == LAYOUT,
            "{place}: an archive of layout {layout:?}; this contend knows {LAYOUT}: take a newer one"
        );
        Ok(Self { git: Git::on(folder) })
    }

    /// The archive in this folder, made if there is nothing yet.
    ///
    /// # Errors
    /// Something else is there, it is another user's, or it cannot be made.
    pub fn open_or_create(folder: &Path) -> anyhow::Result<Self> {
        match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(folder)?,
            Ok(mut entries) => {
                if entries.next().is_none() {
                    create(folder)?;
                }
            }
            // Opening it says what is there instead.
            Err(_) => {}
        }
        let archive = Self::open(folder)?;
        let (owner, me) = (fs::metadata(folder)?.uid(), rustix::process::geteuid().as_raw());
        ensure!(
            owner == me,
            "{}: the archive of user {owner}, and this is user {me}, whose files it could not read or replace later; \
             name another with --archive",
            folder.display()
        );
        Ok(archive)
    }

    /// Keeps a record. When this returns, the record is on the disk and stays there.
    ///
    /// # Errors
    /// Git or the disk refuses.
    pub fn append(&self, record: &[u8], manifest: &Manifest, summary: &Summary) -> anyhow::Result<String> {
        let _claim = Claim::shared(&self.mark());
        let record = self.git.line(&["hash-object", "-w", "--stdin"], record)?;
        let manifest = self.git.line(&["hash-object", "-w", "--stdin"], &serde_json::to_vec(manifest)?)?;
        let tree = format!("100644 blob {manifest}\t{MANIFEST_FILE}\n100644 blob {record}\t{RECORD_FILE}\n");
        let tree = self.git.line(&["mktree"], tree.as_bytes())?;
        let message = format!("{} on {}\n\n{}\n", summary.experiment, summary.host, serde_json::to_string(summary)?);
        let id = self.git.line(&["commit-tree", &tree], message.as_bytes())?;
        // Zeros: it must not exist yet.
        self.git.local(&["update-ref", &format!("{RECORDS}{id}"), &id, &"0".repeat(id.len())], &[])?;
        Ok(id)
    }

    /// Packs what has become many small files, when Git thinks that it is time. What cannot be packed stays as it is.
    pub fn tidy(&self) {
        let _claim = self.cleared();
        let _ = self.git.local(&["gc", "--auto", "--quiet"], &[]);
    }

    /// All records, the oldest first.
    ///
    /// # Errors
    /// An archive that cannot be read, or a record that is not what its name says.
    pub fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let format = "--format=%(objectname) %(refname) %(contents:body)";
        let answer = self.git.local(&["for-each-ref", format, RECORDS], &[]).with_context(|| {
            format!("{}: the archive cannot be listed; `contend history verify` says more", self.git.folder().display())
        })?;
        let text = String::from_utf8_lossy(&answer);
        let mut entries =
            text.lines().filter(|line| !line.is_empty()).map(entry).collect::<anyhow::Result<Vec<Entry>>>()?;
        entries.sort_by(|a, b| (a.summary.kept_unix_ns, &a.id).cmp(&(b.summary.kept_unix_ns, &b.id)));
        Ok(entries)
    }

    /// The bytes of a record, as they were printed.
    ///
    /// # Errors
    /// Git cannot read it, or its hash is another.
    pub fn record(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        self.part(id, RECORD_FILE)
    }

    /// What was noted beside a record.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn manifest(&self, id: &str) -> anyhow::Result<Manifest> {
        serde_json::from_slice(&self.part(id, MANIFEST_FILE)?).with_context(|| format!("the manifest of {id}"))
    }

    fn part(&self, id: &str, file: &str) -> anyhow::Result<Vec<u8>> {
        integrity::checked_file(&self.git, id, file).with_context(|| {
            format!("record {id} cannot be read whole; `contend history verify` says what else is damaged")
        })
    }

    /// Many records at once, in the order of `ids`, and their manifests. Their hashes are not checked: that takes
    /// [`Self::verify`].
    ///
    /// # Errors
    /// Git cannot be run, or one is missing.
    pub fn records(&self, ids: &[&str]) -> anyhow::Result<Vec<(Vec<u8>, Manifest)>> {
        let requested: String = ids.iter().map(|id| format!("{id}:{RECORD_FILE}\n{id}:{MANIFEST_FILE}\n")).collect();
        let answer = self.git.local(&["cat-file", "--batch"], requested.as_bytes())?;
        let mut rest = answer.as_slice();
        let mut next = |id: &str| {
            git::next_object(&mut rest)
                .with_context(|| format!("record {id} cannot be read whole; `contend history verify` says more"))
        };
        let pair = |id: &&str| {
            let content = next(id)?;
            Ok((content, serde_json::from_slice(&next(id)?).with_context(|| format!("the manifest of {id}"))?))
        };
        ids.iter().map(pair).collect()
    }

    /// Every hash: of every object by Git, of every reference against its name, and that each has its record.
    ///
    /// Returns how many records there are, and what is wrong.
    ///
    /// # Errors
    /// Git cannot be run.
    pub fn verify(&self) -> anyhow::Result<(usize, Vec<String>)> {
        let mut wrong = Vec::new();
        if let Err(error) = self.git.local(&["fsck", "--full", "--strict", "--no-dangling", "--no-progress"], &[]) {
            wrong.push(format!("{error:#}"));
        }
        let listed = self.git.local(&["for-each-ref", "--format=%(objectname) %(refname)", RECORDS], &[])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let records: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
        for (id, reference) in &records {
            if reference.strip_prefix(RECORDS) != Some(id) {
                wrong.push(format!("{reference} points to {id}: it is not the record that it was"));
            }
        }
        let requested: String = records
            .iter()
            .flat_map(|(id, _)| [RECORD_FILE, MANIFEST_FILE].map(|file| format!("{id}:{file}\n")))
            .collect();
        let found = self.git.local(&["cat-file", "--batch-check"], requested.as_bytes())?;
        let missing = String::from_utf8_lossy(&found)
            .lines()
            .filter(|line| !line.contains(" blob "))
            .map(str::to_owned)
            .collect::<Vec<_>>();
        wrong.extend(missing);
        Ok((records.len(), wrong))
    }

    /// Sends the records that the other has not.
    ///
    /// # Errors
    /// What Git says.
    pub fn push(&self, remote: &str) -> anyhow::Result<()> {
        let all = format!("{RECORDS}*:{RECORDS}*");
        self.git.remote(&["push", "--quiet", remote, &all]).map(drop)
    }

    /// Fetches the records that this one has not.
    ///
    /// # Errors
    /// What Git says.
    pub fn pull(&self, remote: &str) -> anyhow::Result<()> {
        let _claim = self.cleared();
        let all = format!("{RECORDS}*:{RECORDS}*");
        self.git.remote(&["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, &all]).map(drop)
    }

    /// The claim for what meets locks of others, when those that are nobody's are gone.
    fn cleared(&self) -> Option<Claim> {
        stale::remove(self.git.folder(), &self.mark());
        Claim::shared(&self.mark())
    }

    fn mark(&self) -> PathBuf {
        self.git.folder().join(MARK_FILE)
    }

    /// The hash that Git gives to a file.
    pub fn hash_of(&self, path: &Path) -> Option<String> {
        self.git.line(&["hash-object", "--no-filters", path.to_str()?], &[]).ok()
    }
}

/// `<hash> <reference> <summary>`.
fn entry(line: &str) -> anyhow::Result<Entry> {
    let mut parts = line.splitn(3, ' ');
    let (id, reference, summary) = (parts.next(), parts.next(), parts.next());
    let wrong =
        || format!("{}: not a record of contend's; `contend history verify` says more", reference.unwrap_or(line));
    let id = id.filter(|id| reference.and_then(|name| name.strip_prefix(RECORDS)) == Some(id)).with_context(wrong)?;
    let summary = serde_json::from_str(summary.with_context(wrong)?).with_context(wrong)?;
    Ok(Entry { id: id.to_owned(), summary })
}

/// Makes an archive beside its place and moves it there whole: of several that do so at once, one wins, and the others
/// find it.
fn create(folder: &Path) -> anyhow::Result<()> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let refused = || format!("no archive can be made at {}", folder.display());
    fs::create_dir_all(parent).with_context(refused)?;
    let draft = tempfile::Builder::new().prefix(".contend-archive-").tempdir_in(parent).with_context(refused)?;
    git::create(draft.path()).with_context(refused)?;
    fs::write(draft.path().join(MARK_FILE), format!("{LAYOUT}\n")).with_context(refused)?;
    match fs::rename(draft.path(), folder) {
        Ok(()) => {
            // What was moved away need not be removed.
            let _ = draft.keep();
            Ok(())
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => Ok(()),
        Err(error) => Err(error).with_context(refused),
    }
}
