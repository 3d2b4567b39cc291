//! What a hop goes through.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What a hop goes through. Figures of different classes answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// a slot for one token, at which one thread of the program or its runtime waits
    Mailbox,
    /// a channel of the runtime, for any number of senders
    Channel,
    /// each hop blocks one kernel thread and wakes another
    OsBlock,
    /// The limits of the machine, without a runtime.
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
