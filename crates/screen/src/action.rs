//! What an item of a menu does.

use crate::choice::Time;
use crate::matrix::Kind;
use crate::menu::which::Menu;

/// What happens when an item is taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Nothing,
    /// Runs this command line.
    Start(Vec<String>),
    /// Puts it where it can be changed before it runs.
    Edit(Vec<String>),
    /// Makes a record's page with this command line, and opens it.
    Page(Vec<String>),
    /// Opens another menu beside.
    Open(Menu),
    TurnLock(&'static str),
    TurnThreads(u16),
    TurnCpu(usize),
    SetTime(Time),
    /// Marks a record, to be compared.
    TurnRecord(String),
    Matrix(Kind),
    /// What is measured, or was, as a picture.
    ShowLive,
    /// What the command printed.
    ShowText,
    Stop,
    Keys,
    /// A text of contend's own.
    Quit,
}

impl Action {
    /// The command line that it stands for.
    pub fn words(&self) -> Option<&[String]> {
        match self {
            Self::Start(words) | Self::Edit(words) | Self::Page(words) => Some(words),
            _ => None,
        }
    }
}
