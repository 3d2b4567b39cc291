//! The state that all connections share.

use super::connections::Connections;
use super::flags::Flags;
use super::index::Index;
use super::limits::{ANSWERS_BYTES, LISTENERS, PUSHES, SMALL_BYTES, WORK, WORKERS};
use super::metrics::Metrics;
use super::response::{Failure, Worked};
use super::runner::{Experiments, Live};
use crate::token::Expected;
use archive::Archive;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

pub struct State {
    pub archive: Archive,
    pub token: Option<Expected>,
    /// Whether clients need no credentials: then only requests for this machine's own names are answered, so that no
    /// page in a browser gains access.
    pub is_open: bool,
    pub accepts: bool,
    pub connections: Arc<Connections>,
    pub experiments: Arc<Experiments>,
    pub live: Arc<Live>,
    pub metrics: Metrics,
    pub index: Index,
    pub pushes: Arc<Semaphore>,
    pub listeners: Arc<Semaphore>,
    workers: Arc<Semaphore>,
    /// The room for answers, in KiB.
    answers: Arc<Semaphore>,
}

impl State {
    pub fn new(archive: Archive, token: Option<&str>, is_open: bool, flags: &Flags, list: Vec<Vec<String>>) -> Self {
        Self {
            archive,
            token: token.map(Expected::of),
            is_open,
            accepts: flags.accept,
            connections: Arc::new(Connections::new(flags.connections as usize)),
            experiments: Arc::new(Experiments::new(list, flags.every)),
            live: Arc::default(),
            metrics: Metrics::default(),
            index: Index::default(),
            pushes: Arc::new(Semaphore::new(PUSHES)),
            listeners: Arc::new(Semaphore::new(LISTENERS)),
            workers: Arc::new(Semaphore::new(WORKERS)),
            answers: Arc::new(Semaphore::new(ANSWERS_BYTES >> 10)),
        }
    }

    /// Runs `work` on a thread that may block, and returns its result: the number of such threads and the room for the
    /// results are limited.
    ///
    /// # Errors
    /// Those of `work`; or no thread or room is free for too long.
    pub async fn worked(
        &self,
        work: impl FnOnce() -> Result<Vec<u8>, Failure> + Send + 'static,
    ) -> Result<Worked, Failure> {
        let turn = self.turn().await?;
        let content = tokio::task::spawn_blocking(work).await.map_err(|_| Failure::internal())??;
        let worked = self.room(content);
        drop(turn);
        worked
    }

    /// Waits for permission to use the disk or a child.
    ///
    /// # Errors
    /// None is free for too long.
    pub async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        match timeout(WORK, Arc::clone(&self.workers).acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Failure::busy()),
        }
    }

    /// Returns these bytes with the room for them: small ones need none, so that clients that read large answers slowly
    /// only block each other.
    ///
    /// # Errors
    /// No room is free.
    pub fn room(&self, content: Vec<u8>) -> Result<Worked, Failure> {
        let size = if content.len() <= SMALL_BYTES { 0 } else { content.len().div_ceil(1 << 10) };
        match Arc::clone(&self.answers).try_acquire_many_owned(size as u32) {
            Ok(room) => Ok(Worked { content: content.into(), room }),
            Err(_) => Err(Failure::busy()),
        }
    }
}
