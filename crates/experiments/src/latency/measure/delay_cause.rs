//! Why a round took as long as it did, in words.

use harness::label;
use instruments::evidence::{Cause, Kind};

/// What took the excess of a round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayCause {
    /// Another thread had the lock.
    Holder,
    /// Another thread waited for it, and had to be woken.
    Waiter,
    /// Something of the kernel's.
    Kernel(Cause),
    /// Nothing known.
    Unexplained,
}

impl DelayCause {
    /// As the record has it.
    pub fn label(&self) -> String {
        match self {
            Self::Holder => "waited for the holder".into(),
            Self::Waiter => "woke a waiter".into(),
            Self::Kernel(Cause { kind: Kind::Task, name: Some(name), .. }) => format!("switched out to {name}"),
            Self::Kernel(cause) => label(cause),
            Self::Unexplained => UNEXPLAINED.into(),
        }
    }
}

/// The cause of what has no evidence.
pub const UNEXPLAINED: &str = "unexplained";
/// The cause of the fast path.
pub const UNCONTENDED: &str = "uncontended";
