//! The archive: creation, appending, listing, reading, checking.

use crate::baseline::Baselines;
use crate::claim::{self, Claim, Draft};
use crate::git::{self, Git, Memory};
use crate::incoming::{self, Fetched};
use crate::listing::{self, Entry, Listing, RECORDS, Reference, Skipped, Summary, short};
use crate::manifest::Manifest;
use crate::objects::{self, MOST_BESIDE};
use crate::records::{self, MANIFEST_FILE, PortableRecord, RECORD_FILE};
use crate::shell::quoted;
use crate::trust;
use anyhow::{Context, bail, ensure};
use record::MOST_BYTES;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Display, Path, PathBuf};
use std::{fs, io};

/// The file in the repository that names its program and its layout.
const MARK_FILE: &str = "contend-archive";
const LAYOUT: &str = "1";
/// The hash algorithm; most hosts accept no other.
const HASHES: &str = "sha1";

/// An archive of records.
#[derive(Clone, Debug)]
pub struct Archive {
    git: Git,
}

impl Archive {
    /// Opens the archive in this directory, which must belong to this user.
    ///
    /// # Errors
    /// There is no archive, the directory contains something else, belongs to another user, or could run programs.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let place = folder.display();
        // From here on, a user who can change a link on the path has no influence.
        let folder = &folder.canonicalize().with_context(|| format!("{place}: no archive"))?;
        let found = fs::metadata(folder).with_context(|| format!("{place}: no archive"))?;
        ensure!(found.is_dir(), "{place}: a file, not an archive directory; name another path with --archive");
        let mark = folder.join(MARK_FILE);
        let marked = fs::symlink_metadata(&mark);
        ensure!(
            !marked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
            "{place}: not a contend archive (the file {MARK_FILE} is missing); the directory was not changed; name \
             another with --archive"
        );
        trust::check_owner(folder)?;
        let layout = fs::read_to_string(&mark).with_context(|| format!("{place}: cannot read the archive"))?;
        let layout = layout.trim();
        ensure!(
            layout == LAYOUT,
            "{place}: archive layout {layout:?} is not supported; this version of contend supports {LAYOUT:?}; use a \
             newer version"
        );
        trust::check_readable(folder)?;
        trust::check_settings(folder)?;
        Ok(Self { git: Git::on(folder) })
    }

    /// Opens the archive in this directory, and creates it if the directory does not exist.
    ///
    /// # Errors
    /// The directory contains something else, belongs to another user, or cannot be created.
    pub fn open_or_create(folder: &Path) -> anyhow::Result<Self> {
        claim::remove_left(parent(folder));
        match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(folder)?,
            Ok(mut entries) => {
                if entries.next().is_none() {
                    create(folder)?;
                }
            }
            // Opening the path reports what is there instead.
            Err(_) => {}
        }
        Self::open(folder)
    }

    /// Returns the directory of the archive.
    pub fn folder(&self) -> &Path {
        self.git.folder()
    }

    /// Stores a record.
    ///
    /// When this returns, the record is durable.
    pub fn append(&self, record: &[u8], manifest: &Manifest, summary: &Summary) -> anyhow::Result<String> {
        record::check_size(record)?;
        let _claim = Claim::shared(&self.mark());
        let record = self.git.line(&["hash-object", "-w", "--stdin"], record)?;
        let manifest = self.git.line(&["hash-object", "-w", "--stdin"], &serde_json::to_vec(manifest)?)?;
        let tree = format!("100644 blob {manifest}\t{MANIFEST_FILE}\n100644 blob {record}\t{RECORD_FILE}\n");
        let tree = self.git.line(&["mktree"], tree.as_bytes())?;
        let message = format!("{} on {}\n\n{}\n", summary.experiment, summary.host, serde_json::to_string(summary)?);
        // The commit has the time of the record: Git would use the system clock, and `git fsck` refuses a time before
        // 1970 in every later check.
        let kept_unix_s = summary.kept_unix_ns / 1_000_000_000;
        let id = self.git.dated(&["commit-tree", &tree], message.as_bytes(), kept_unix_s)?;
        // Zeros mean that the reference must not exist yet.
        self.git.local(&["update-ref", &format!("{RECORDS}{id}"), &id, &"0".repeat(id.len())], &[])?;
        Ok(id)
    }

    /// Packs loose files when Git considers it due.
    ///
    /// Files that cannot be packed stay as they are.
    pub fn tidy(&self) {
        let _claim = self.cleared();
        let _ = self.git.maintenance(&["gc", "--auto", "--quiet"]);
    }

    /// Lists all records, the oldest first, and the other references among them.
    pub fn listing(&self) -> anyhow::Result<Listing> {
        listing::references(&self.git).and_then(|all| listing::listing(&self.git, &all)).with_context(|| {
            format!("{}: cannot list the archive; `contend history verify` reports the damage", self.place())
        })
    }

    /// Returns the bytes of a record, as they were printed.
    ///
    /// # Errors
    /// Git cannot read it, or its hash differs.
    pub fn record(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        self.part(id, RECORD_FILE, MOST_BYTES)
    }

    /// Returns the manifest of a record.
    pub fn manifest(&self, id: &str) -> anyhow::Result<Manifest> {
        serde_json::from_slice(&self.part(id, MANIFEST_FILE, MOST_BESIDE)?)
            .with_context(|| format!("record {id}: cannot read its manifest"))
    }

    fn part(&self, id: &str, file: &str, most: u64) -> anyhow::Result<Vec<u8>> {
        objects::checked_file(&self.git, id, file, most).with_context(|| {
            format!(
                "record {id}: cannot read all of it; `contend history verify` lists all damaged records, and `{}` \
                 removes this one from the archive",
                self.removal(&format!("{RECORDS}{id}"))
            )
        })
    }

    /// Passes each of these records and its manifest to `take`, in the order of `ids`, or the reason why it cannot be
    /// read; only one is in memory at a time.
    ///
    /// Their hashes are checked only by [`Self::verify`].
    pub fn each(
        &self,
        ids: &[&str],
        take: impl FnMut(usize, anyhow::Result<(Vec<u8>, Manifest)>),
    ) -> anyhow::Result<()> {
        records::each(&self.git, ids, take)
    }

    /// Verifies every hash: Git checks each object, and each reference is compared with its name.
    ///
    /// Also verifies that each record can be read, by `read` too.
    ///
    /// Returns the number of records and the problems found.
    pub fn verify(
        &self,
        read: impl FnMut(&Entry, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<(usize, Vec<String>)> {
        let mut wrong = Vec::new();
        if let Err(error) = self.git.local(&["fsck", "--full", "--strict", "--no-dangling", "--no-progress"], &[]) {
            wrong.push(format!("{error:#}"));
        }
        let listing = self.listing()?;
        let unsound = records::unsound(&self.git, &listing.entries, read)?;
        wrong.extend(listing.skipped.iter().chain(&unsound).map(|skipped| self.complaint(skipped)));
        Ok((listing.entries.len(), wrong))
    }

    /// Returns the message about a reference that is not a record, with the command that removes it.
    pub fn complaint(&self, skipped: &Skipped) -> String {
        format!("{}: {}; `{}` removes it", skipped.reference, skipped.reason, self.removal(&skipped.reference))
    }

    /// Returns the command that removes a reference, with the name quoted.
    fn removal(&self, reference: &str) -> String {
        format!(
            "git --git-dir {} update-ref --no-deref -d {reference}",
            quoted(self.git.folder().as_os_str().as_bytes())
        )
    }

    /// Deletes records, unless a baseline names one of them.
    ///
    /// Git removes their content at a later packing. The deletion is one transaction: it is complete, or nothing is
    /// deleted.
    ///
    /// # Errors
    /// A baseline names a record, or Git fails.
    pub fn remove(&self, ids: &[&str]) -> anyhow::Result<()> {
        let _no_other_names_them = Claim::naming(self.folder());
        let baselines = self.baselines();
        let (named, unreadable) = baselines.all(&self.listing()?.entries)?;
        ensure!(unreadable.is_empty(), "cannot delete while a baseline is unreadable: {}", unreadable.join("; "));
        for baseline in &named {
            if let Some(id) = ids.iter().find(|id| baseline.records.iter().any(|record| record == **id)) {
                bail!(
                    "record {}: the baseline {name} names it; `contend baseline remove {name}` releases it",
                    short(id),
                    name = baseline.name
                );
            }
        }
        let deletions: String = ids.iter().map(|id| format!("delete {RECORDS}{id}\n")).collect();
        self.git.local(&["update-ref", "--no-deref", "--stdin"], deletions.as_bytes()).map(drop)
    }

    /// Sends the records that the remote lacks, and nothing else.
    pub fn push(&self, remote: &str) -> anyhow::Result<usize> {
        let all = listing::references(&self.git)?;
        let listing = self.listing()?;
        let named: HashSet<&str> = listing.entries.iter().map(|entry| entry.id.as_str()).collect();
        let is_none =
            |reference: &&Reference| !(reference.is_named_by_its_hash() && named.contains(reference.hash.as_str()));
        let left_out =
            all.iter().filter(is_none).map(|reference| Some(format!("^{}", str::from_utf8(&reference.name).ok()?)));
        let left_out: Option<Vec<String>> = left_out.collect();
        let left_out = left_out.context(
            "cannot push: the archive has a reference whose name is not UTF-8; `contend history verify` prints the \
             command that removes it",
        )?;
        let all = format!("{RECORDS}*:{RECORDS}*");
        let baselines = self.baselines().pushed(&listing.entries)?;
        let mut arguments = vec!["push", "--quiet", "--no-verify", "--end-of-options", remote, &all];
        arguments.extend(left_out.iter().chain(&baselines).map(String::as_str));
        self.git.remote(&arguments, Memory::Free)?;
        Ok(named.len())
    }

    /// Fetches the records that this archive lacks.
    ///
    /// Anything that cannot be read as a record is not admitted.
    pub fn pull(&self, remote: &str) -> anyhow::Result<Fetched> {
        let _claim = self.cleared();
        incoming::fetch(&self.git, remote)
    }

    /// Returns the names that were given to records.
    pub fn baselines(&self) -> Baselines<'_> {
        Baselines::of(&self.git, self.cleared())
    }

    /// Returns a record with all objects that its name is the hash of.
    ///
    /// # Errors
    /// It does not exist, or is not a record.
    pub fn portable(&self, id: &str) -> anyhow::Result<PortableRecord> {
        records::read_portable(&self.git, id)
    }

    /// Admits records from elsewhere that this archive lacks, if they match their names and can be read.
    pub fn admit(&self, portables: Vec<PortableRecord>) -> anyhow::Result<Fetched> {
        let _claim = self.cleared();
        incoming::admit(&self.git, portables)
    }

    /// Removes stale locks, and returns the claim for an operation that would meet the locks of other processes.
    fn cleared(&self) -> Option<Claim> {
        claim::remove_stale(self.git.folder(), &self.mark());
        Claim::shared(&self.mark())
    }

    fn place(&self) -> Display<'_> {
        self.git.folder().display()
    }

    fn mark(&self) -> PathBuf {
        self.git.folder().join(MARK_FILE)
    }

    /// Returns the hash that Git gives to a file.
    pub fn hash_of(&self, path: &Path) -> Option<String> {
        self.git.line(&["hash-object", "--no-filters", "--", path.to_str()?], &[]).ok()
    }
}

fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates an archive next to its destination and then moves it there: of several processes that do so at the same time
/// one succeeds, and the others find its archive.
fn create(folder: &Path) -> anyhow::Result<()> {
    let refused = || format!("{}: cannot create the archive", folder.display());
    fs::create_dir_all(parent(folder)).with_context(refused)?;
    let draft = Draft::inside(parent(folder)).with_context(refused)?;
    git::create(draft.path(), HASHES).with_context(refused)?;
    let mark = draft.path().join(MARK_FILE);
    fs::write(&mark, format!("{LAYOUT}\n")).with_context(refused)?;
    // Git creates the rest so that other users cannot write to it, also under a umask of 0.
    for made in [draft.path(), &mark] {
        let mode = fs::metadata(made)?.permissions().mode() & !0o002;
        fs::set_permissions(made, fs::Permissions::from_mode(mode)).with_context(refused)?;
    }
    match draft.move_to(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => Ok(()),
        moved => moved.with_context(refused),
    }
}
