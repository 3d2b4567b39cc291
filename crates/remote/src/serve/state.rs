//! What all connections share.

use super::connections::Connections;
use super::failure::Failure;
use super::flags::Flags;
use super::limits::{ANSWERS_BYTES, LISTENERS, PUSHES, SMALL_BYTES, WORK, WORKERS};
use super::live::Live;
use super::metrics::Metrics;
use super::runner::Experiments;
use super::worked::Worked;
use crate::token::Expected;
use archive::Archive;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

pub struct State {
    pub archive: Archive,
    pub token: Option<Expected>,
    /// Nobody has to say who they are: then only who names this machine is answered, so that no page in a browser asks.
    pub is_open: bool,
    pub accepts: bool,
    pub connections: Arc<Connections>,
    pub experiments: Arc<Experiments>,
    pub live: Arc<Live>,
    pub metrics: Metrics,
    pub pushes: Arc<Semaphore>,
    pub listeners: Arc<Semaphore>,
    workers: Arc<Semaphore>,
    /// In KiB.
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
            pushes: Arc::new(Semaphore::new(PUSHES)),
            listeners: Arc::new(Semaphore::new(LISTENERS)),
            workers: Arc::new(Semaphore::new(WORKERS)),
            answers: Arc::new(Semaphore::new(ANSWERS_BYTES >> 10)),
        }
    }

    /// What `work` makes, on a thread that may wait: so many at once, and room for what comes of it.
    ///
    /// # Errors
    /// Of `work`; or there is no room for it for too long.
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

    /// A turn to use the disk or a child.
    ///
    /// # Errors
    /// Others have them all for too long.
    pub async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        match timeout(WORK, Arc::clone(&self.workers).acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Failure::busy()),
        }
    }

    /// These bytes, if there is room for them: what is small needs none, so that those who take large answers slowly
    /// are in nobody's way but each other's.
    ///
    /// # Errors
    /// Others take it all.
    pub fn room(&self, content: Vec<u8>) -> Result<Worked, Failure> {
        let size = if content.len() <= SMALL_BYTES { 0 } else { content.len().div_ceil(1 << 10) };
        match Arc::clone(&self.answers).try_acquire_many_owned(size as u32) {
            Ok(room) => Ok(Worked { content: content.into(), room }),
            Err(_) => Err(Failure::busy()),
        }
    }
}
