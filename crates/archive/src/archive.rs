//! The archive: opened or made, appended to, listed, read, checked.

use crate::baseline::Baselines;
use crate::claim::{self, Claim};
use crate::draft::{self, Draft};
use crate::git::{self, Git};
use crate::incoming::{self, Fetched};
use crate::listing::{self, Listing, RECORDS, Reference, Skipped};
use crate::manifest::Manifest;
use crate::objects::{self, MOST_BESIDE};
use crate::process::Memory;
use crate::records::{self, MANIFEST_FILE, RECORD_FILE};
use crate::shell::quoted;
use crate::summary::{Entry, Summary};
use crate::trust;
use crate::whole::{self, Whole};
use anyhow::{Context, ensure};
use record::MOST_BYTES;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Display, Path, PathBuf};

/// A file in the repository that says whose it is, and with which layout.
const MARK_FILE: &str = "contend-archive";
const LAYOUT: &str = "1";
/// Of hashes: most hosts take no other.
const HASHES: &str = "sha1";

/// An archive of records.
#[derive(Clone, Debug)]
pub struct Archive {
    git: Git,
}

impl Archive {
    /// The archive in this folder, which is this user's.
    ///
    /// # Errors
    /// There is none, or something else, or another user's, or one that could run programs.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let place = folder.display();
        // Whoever may change a link on the way to it changes nothing any more.
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

    /// The archive in this folder, made if there is nothing yet.
    ///
    /// # Errors
    /// Something else is there, it is another user's, or it cannot be made.
    pub fn open_or_create(folder: &Path) -> anyhow::Result<Self> {
        draft::remove_left(parent(folder));
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
        Self::open(folder)
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        self.git.folder()
    }

    /// Keeps a record. When this returns, the record is on the disk and stays there.
    pub fn append(&self, record: &[u8], manifest: &Manifest, summary: &Summary) -> anyhow::Result<String> {
        record::check_size(record)?;
        let _claim = Claim::shared(&self.mark());
        let record = self.git.line(&["hash-object", "-w", "--stdin"], record)?;
        let manifest = self.git.line(&["hash-object", "-w", "--stdin"], &serde_json::to_vec(manifest)?)?;
        let tree = format!("100644 blob {manifest}\t{MANIFEST_FILE}\n100644 blob {record}\t{RECORD_FILE}\n");
        let tree = self.git.line(&["mktree"], tree.as_bytes())?;
        let message = format!("{} on {}\n\n{}\n", summary.experiment, summary.host, serde_json::to_string(summary)?);
        // The time of the commit is that of the record: Git would take the system clock, and a time before 1970 is one that
        // `git fsck` refuses in every later check.
        let kept_unix_s = summary.kept_unix_ns / 1_000_000_000;
        let id = self.git.dated(&["commit-tree", &tree], message.as_bytes(), kept_unix_s)?;
        // Zeros: it must not exist yet.
        self.git.local(&["update-ref", &format!("{RECORDS}{id}"), &id, &"0".repeat(id.len())], &[])?;
        Ok(id)
    }

    /// Packs what has become many small files, when Git thinks that it is time. What cannot be packed stays as it is.
    pub fn tidy(&self) {
        let _claim = self.cleared();
        let _ = self.git.whole(&["gc", "--auto", "--quiet"]);
    }

    /// All records, the oldest first; and what is no record and stands where they are.
    pub fn listing(&self) -> anyhow::Result<Listing> {
        listing::references(&self.git).and_then(|all| listing::listing(&self.git, &all)).with_context(|| {
            format!("{}: cannot list the archive; `contend history verify` reports the damage", self.place())
        })
    }

    /// The bytes of a record, as they were printed.
    ///
    /// # Errors
    /// Git cannot read it, or its hash is another.
    pub fn record(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        self.part(id, RECORD_FILE, MOST_BYTES)
    }

    /// What was noted beside a record.
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

    /// Gives each of these records and its manifest to `take`, in the order of `ids`, or why it cannot be read; one is
    /// held at a time. Their hashes are not checked: that takes [`Self::verify`].
    pub fn each(
        &self,
        ids: &[&str],
        take: impl FnMut(usize, anyhow::Result<(Vec<u8>, Manifest)>),
    ) -> anyhow::Result<()> {
        records::each(&self.git, ids, take)
    }

    /// Every hash: of every object by Git, of every reference against its name; and that each record can be read, by
    /// `read` too.
    ///
    /// Returns how many records there are, and what is wrong.
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

    /// What a person is told of a reference that is no record, and how it is removed.
    pub fn complaint(&self, skipped: &Skipped) -> String {
        format!("{}: {}; `{}` removes it", skipped.reference, skipped.reason, self.removal(&skipped.reference))
    }

    /// The command that removes a reference, which is quoted.
    fn removal(&self, reference: &str) -> String {
        format!(
            "git --git-dir {} update-ref --no-deref -d {reference}",
            quoted(self.git.folder().as_os_str().as_bytes())
        )
    }

    /// Sends the records that the other has not, and nothing that is none.
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

    /// Fetches the records that this one has not. What cannot be read as a record is left where it is.
    pub fn pull(&self, remote: &str) -> anyhow::Result<Fetched> {
        let _claim = self.cleared();
        incoming::fetch(&self.git, remote)
    }

    /// The names that were given to records.
    pub fn baselines(&self) -> Baselines<'_> {
        Baselines::of(&self.git, self.cleared())
    }

    /// A record with all that its name is the hash of.
    ///
    /// # Errors
    /// It is not there, or no record.
    pub fn whole(&self, id: &str) -> anyhow::Result<Whole> {
        whole::read(&self.git, id)
    }

    /// Takes records from elsewhere that this one has not, and that are what their names say and can be read.
    pub fn admit(&self, wholes: Vec<Whole>) -> anyhow::Result<Fetched> {
        let _claim = self.cleared();
        incoming::admit(&self.git, wholes)
    }

    /// The claim for what meets locks of others, when those that are nobody's are gone.
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

    /// The hash that Git gives to a file.
    pub fn hash_of(&self, path: &Path) -> Option<String> {
        self.git.line(&["hash-object", "--no-filters", "--", path.to_str()?], &[]).ok()
    }
}

fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes an archive beside its place and moves it there whole: of several that do so at once, one wins, and the others
/// find it.
fn create(folder: &Path) -> anyhow::Result<()> {
    let refused = || format!("{}: cannot create the archive", folder.display());
    fs::create_dir_all(parent(folder)).with_context(refused)?;
    let draft = Draft::inside(parent(folder)).with_context(refused)?;
    git::create(draft.path(), HASHES).with_context(refused)?;
    let mark = draft.path().join(MARK_FILE);
    fs::write(&mark, format!("{LAYOUT}\n")).with_context(refused)?;
    // Git makes the rest so that other users cannot write to it, also under a umask of 0.
    for made in [draft.path(), &mark] {
        let mode = fs::metadata(made)?.permissions().mode() & !0o002;
        fs::set_permissions(made, fs::Permissions::from_mode(mode)).with_context(refused)?;
    }
    match draft.move_to(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => Ok(()),
        moved => moved.with_context(refused),
    }
}
