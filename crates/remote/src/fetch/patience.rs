//! Retries: unlimited, as long as every try gets a little further.

use super::fault::Fault;
use std::time::Duration;
use tokio::time::sleep;

/// The maximum number of tries without progress.
const TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(50);

#[derive(Default)]
pub struct Patience {
    has_connected: bool,
    in_vain: u32,
}

impl Patience {
    /// Notes progress.
    pub fn gained(&mut self) {
        self.has_connected = true;
        self.in_vain = 0;
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// Another try is useless.
    pub async fn after(&mut self, fault: Fault) -> anyhow::Result<()> {
        self.in_vain += 1;
        match fault {
            Fault::Final(error) => Err(error),
            Fault::Unreachable(error) if !self.has_connected => Err(error),
            Fault::Unreachable(error) | Fault::Broken(error) if self.in_vain >= TRIES => {
                Err(error.context(format!("gave up after {TRIES} attempts")))
            }
            Fault::Unreachable(_) | Fault::Broken(_) => {
                sleep(FIRST_WAIT * 2_u32.pow(self.in_vain.min(6))).await;
                Ok(())
            }
        }
    }
}
