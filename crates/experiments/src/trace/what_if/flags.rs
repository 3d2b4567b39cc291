//! What the user may set.

use clap::Args;

/// The flag that asks what shorter sections would gain.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What shorter sections would gain")]
pub struct WhatIfFlags {
    /// Run the program as if the sections of this lock, by the name that `contend trace` gives it, were shorter by 25
    /// %, 50 %, 75 % and 100 %, in random turns, and say what that gains; without a name, the locks waited for most
    #[arg(long, value_name = "LOCK", num_args = 0..=1, default_missing_value = "", group = "compared",
          conflicts_with_all = ["full", "interval", "export", "search", "swap_only", "fail_if", "swap_library"])]
    pub what_if: Option<String>,
}

impl WhatIfFlags {
    /// Whether that is asked, and for which lock, if one is named.
    pub fn lock(&self) -> Option<Option<&str>> {
        self.what_if.as_deref().map(|lock| Some(lock).filter(|lock| !lock.is_empty()))
    }
}
