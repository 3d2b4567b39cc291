//! What a hop goes through.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What a hop goes through. Figures of different classes answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A place for one token, at which one thread of the program or its runtime waits
    Mailbox,
    /// What the runtime offers any number of senders
    Channel,
    /// Each hop blocks one thread of the operating system and wakes another
    OsBlock,
    /// What the machine allows: no runtime at all
    #[value(skip)]
    Limit,
}

impl Class {
    /// As on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mailbox => "mailbox",
            Self::Channel => "channel",
            Self::OsBlock => "os-block",
            Self::Limit => "limit",
        }
    }
}
