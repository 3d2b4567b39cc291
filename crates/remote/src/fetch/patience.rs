//! How often something is tried again: as long as every try gets a little further, for ever.

use super::fault::Fault;
use std::time::Duration;
use tokio::time::sleep;

/// Tries without anything gained.
const TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(50);

#[derive(Default)]
pub struct Patience {
    has_connected: bool,
    in_vain: u32,
}

impl Patience {
    /// Something came.
    pub fn gained(&mut self) {
        self.has_connected = true;
        self.in_vain = 0;
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// There is no reason for one.
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
