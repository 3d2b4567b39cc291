//! The time limit of a host, whatever it sends: a list and all records within one limit, and each of them within a part
//! of it.
//!
//! The limits of `client` bound the wait for the next bytes only. A host that sends a byte a second, or an endless
//! sequence of interim responses, stays within those forever.

use anyhow::{Context, bail};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The number of answers in the limit: each has this part of the time.
const ANSWERS: u32 = 10;

#[derive(Clone, Copy)]
pub struct Deadline {
    within: Duration,
    end: Instant,
}

impl Deadline {
    /// Starts the time.
    pub fn after(within: Duration) -> Self {
        Self { within, end: Instant::now() + within }
    }

    /// Returns the result of `work`, which only waits for the network: nothing is lost if it is dropped.
    ///
    /// # Errors
    /// Those of `work`; or the time is over.
    pub async fn hold<T>(&self, subject: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let (all, one) = (self.within.as_secs_f64(), self.within.as_secs_f64() / f64::from(ANSWERS));
        let end = Instant::now() + self.within / ANSWERS;
        match timeout_at(end.min(self.end), work).await {
            Ok(result) => result.with_context(|| subject.to_owned()),
            Err(_) if end < self.end => bail!("{subject}: not received within {one} s, a tenth of --within"),
            Err(_) => bail!(
                "{subject}: not received within the {all} s of --within; records received before are saved, and the \
                 next fetch continues there"
            ),
        }
    }
}
