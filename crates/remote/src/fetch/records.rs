//! The records of one machine: their list, the selected ones, each of them in full, and their storage in the local
//! archive.

use super::client::{Client, Fault, Patience, Question, all};
use crate::exchange::{JSON, MOST_SENT, WHOLE};
use anyhow::{Context, ensure};
use archive::{Archive, Entry, Name, PortableRecord, is_hash};
use harness::output;
use hyper::StatusCode;
use hyper::header::CONTENT_RANGE;
use std::mem;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The most bytes of a list, and the most values in it: text of two bytes can become a value of 24.
const MOST_OF_LIST: u64 = 64 << 20;
const MOST_VALUES_OF_LIST: usize = 4_000_000;

/// Returns the list of the machine's records.
///
/// # Errors
/// It cannot be reached, or its answer is not a list.
pub async fn list(client: &mut Client, patience: &mut Patience) -> anyhow::Result<Vec<Entry>> {
    let content = loop {
        let mut content = Vec::new();
        let answer = client.ask(&Question::of("/records", JSON)).await;
        let read = match answer {
            Ok(response) => all(response, &mut content, MOST_OF_LIST).await,
            Err(fault) => Err(fault),
        };
        match read {
            Ok(()) => break content,
            Err(fault) => patience.after(fault).await?,
        }
    };
    patience.gained();
    ensure!(
        record::values(&content) <= MOST_VALUES_OF_LIST,
        "the server's list of records has more than {MOST_VALUES_OF_LIST} values"
    );
    let entries: Vec<Entry> = serde_json::from_slice(&content)
        .context("the server did not send a list of records; is it `contend serve`?")?;
    ensure!(entries.iter().all(|entry| is_hash(&entry.id)), "the server's list contains invalid record IDs");
    Ok(entries)
}

/// Returns the selected records.
///
/// # Errors
/// No record has this name.
pub fn wanted(entries: Vec<Entry>, what: Option<&str>) -> anyhow::Result<Vec<Entry>> {
    let Some(what) = what else { return Ok(entries) };
    let of_experiment: Vec<Entry> = entries.iter().filter(|entry| entry.summary.experiment == what).cloned().collect();
    if !of_experiment.is_empty() {
        return Ok(of_experiment);
    }
    Ok(vec![Name::of(what).among(&entries, |_| None)?.clone()])
}

/// Returns the record of this name, in spite of interruptions; the archive checks its hashes.
///
/// # Errors
/// It cannot be fetched, or the answer is not a record.
pub async fn one(client: &mut Client, id: &str, patience: &mut Patience) -> anyhow::Result<PortableRecord> {
    let (mut content, mut furthest) = (Vec::new(), 0);
    loop {
        match rest(client, id, &mut content).await {
            Ok(()) => break,
            Err(fault) => {
                client.hang_up();
                // A host that sends the same bytes again has made no progress.
                if content.len() > furthest {
                    furthest = content.len();
                    patience.gained();
                }
                patience.after(fault).await?;
            }
        }
    }
    patience.gained();
    let portable: PortableRecord =
        serde_json::from_slice(&content).with_context(|| format!("record {id}: the server did not send a record"))?;
    ensure!(portable.id == id, "record {id}: the server sent record {} instead", portable.id);
    portable.check_size().with_context(|| format!("record {id}: cannot archive it"))?;
    Ok(portable)
}

/// Requests the missing part.
async fn rest(client: &mut Client, id: &str, content: &mut Vec<u8>) -> Result<(), Fault> {
    let question = Question { from: content.len(), ..Question::of(format!("/records/{id}"), WHOLE) };
    let response = client.ask(&question).await?;
    if response.status() == StatusCode::PARTIAL_CONTENT {
        let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !range.starts_with(&format!("bytes {}-", content.len())) {
            content.clear();
            return Err(Fault::broken("the server sent another range than the requested one"));
        }
    } else {
        content.clear();
    }
    all(response, content, MOST_SENT).await
}

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

/// Storage of the received records of one machine in the local archive: some at a time, and each only if its content
/// matches its name. The archive takes those of several machines alternately.
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
