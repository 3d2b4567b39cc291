//! Storage of received records in the local archive: some at a time, and each only if its content matches its name.

use archive::{Archive, PortableRecord};
use harness::output;
use std::mem;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The maximum number of records, and of bytes of them with their commits and manifests, that are stored at once.
const MOST: usize = 64;
const MOST_BYTES: usize = 16 << 20;
/// Refusals that are printed for each host; the others are only counted.
const MOST_SAID: usize = 20;

/// The result of storing records.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    pub new: usize,
    pub refused: usize,
}

/// The records of one machine; the archive takes those of several machines alternately.
pub struct Keeper {
    host: String,
    archive: Arc<Mutex<Archive>>,
    waiting: Vec<PortableRecord>,
    bytes: usize,
    pub stored: Stored,
}

impl Keeper {
    pub fn new(host: String, archive: Arc<Mutex<Archive>>) -> Self {
        Self { host, archive, waiting: Vec::new(), bytes: 0, stored: Stored::default() }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The archive cannot store this record, or any.
    pub async fn add(&mut self, portable: PortableRecord) -> anyhow::Result<()> {
        self.bytes += portable.bytes();
        self.waiting.push(portable);
        if self.waiting.len() >= MOST || self.bytes >= MOST_BYTES { self.flush().await } else { Ok(()) }
    }

    /// Prints why a record is not stored.
    fn refuse(&mut self, reason: &str) {
        self.stored.refused += 1;
        if self.stored.refused > MOST_SAID {
            return;
        }
        output::eprint_line(&format!("warning: {}: not saved: {reason}", self.host));
    }

    /// Stores the waiting records.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub async fn flush(&mut self) -> anyhow::Result<()> {
        let portables = mem::take(&mut self.waiting);
        self.bytes = 0;
        if portables.is_empty() {
            return Ok(());
        }
        let archive = Arc::clone(&self.archive).lock_owned().await;
        let fetched = tokio::task::spawn_blocking(move || archive.admit(portables)).await??;
        self.stored.new += fetched.taken;
        for refused in fetched.refused {
            self.refuse(&format!("{}: {}", refused.reference, refused.reason));
        }
        Ok(())
    }
}
