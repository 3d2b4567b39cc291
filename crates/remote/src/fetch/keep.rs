//! Records on their way into the own archive: some at a time, and each only if it is what its name says.

use archive::{Archive, Whole};
use harness::output;
use std::mem;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Records, and bytes of them with their commits and manifests, that are kept at once.
const MOST: usize = 64;
const MOST_BYTES: usize = 16 << 20;
/// Refusals that are printed for each host; the others are only counted.
const MOST_SAID: usize = 20;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    pub new: usize,
    pub refused: usize,
}

/// Those of one machine; the archive takes those of several in turns.
pub struct Keeper {
    host: String,
    archive: Arc<Mutex<Archive>>,
    waiting: Vec<Whole>,
    bytes: usize,
    pub kept: Kept,
}

impl Keeper {
    pub fn new(host: String, archive: Arc<Mutex<Archive>>) -> Self {
        Self { host, archive, waiting: Vec::new(), bytes: 0, kept: Kept::default() }
    }

    /// # Errors
    /// The archive cannot take it, or anything.
    pub async fn add(&mut self, whole: Whole) -> anyhow::Result<()> {
        self.bytes += whole.bytes();
        self.waiting.push(whole);
        if self.waiting.len() >= MOST || self.bytes >= MOST_BYTES { self.flush().await } else { Ok(()) }
    }

    /// Prints why a record is not kept.
    fn refuse(&mut self, reason: &str) {
        self.kept.refused += 1;
        if self.kept.refused > MOST_SAID {
            return;
        }
        output::eprint_line(&format!("warning: {}: not saved: {reason}", self.host));
    }

    /// Keeps those that wait.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub async fn flush(&mut self) -> anyhow::Result<()> {
        let wholes = mem::take(&mut self.waiting);
        self.bytes = 0;
        if wholes.is_empty() {
            return Ok(());
        }
        let archive = Arc::clone(&self.archive).lock_owned().await;
        let fetched = tokio::task::spawn_blocking(move || archive.admit(wholes)).await??;
        self.kept.new += fetched.taken;
        for refused in fetched.refused {
            self.refuse(&format!("{}: {}", refused.reference, refused.reason));
        }
        Ok(())
    }
}
