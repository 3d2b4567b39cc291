//! Options of the user.

use clap::Args;

/// The flag that asks for the gain from shorter critical sections.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Predict the gain from shorter critical sections")]
pub struct WhatIfFlags {
    /// Run PROGRAM as if the critical sections of LOCK were 25 %, 50 %, 75 % and 100 % shorter, in random order, and
    /// estimate the gain. LOCK is a name printed by `contend trace` [default: the locks with the longest total wait]
    #[arg(long, value_name = "LOCK", num_args = 0..=1, default_missing_value = "", group = "compared",
          conflicts_with_all = [
              "full", "interval", "export", "save", "pid", "cgroup", "container", "every", "search", "swap_only", "fail_if",
              "swap_library",
          ])]
    pub what_if: Option<String>,
}

impl WhatIfFlags {
    /// Returns the lock, if one is named.
    pub fn lock(&self) -> Option<&str> {
        self.what_if.as_deref().filter(|lock| !lock.is_empty())
    }
}
