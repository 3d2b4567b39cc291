//! A line of a menu, and what lines are made of.

use crate::action::Action;
use crate::choice::Choice;
use crate::machine::Machine;
use crate::records::Records;

/// A line of a menu.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Whether it is chosen, for what can be.
    pub mark: Option<bool>,
    /// Why it cannot be had here: it is grey.
    pub refusal: Option<String>,
    pub action: Action,
}

/// What menus are made of.
pub struct Given<'a> {
    pub machine: &'a Machine,
    pub choice: &'a Choice,
    pub records: &'a Records,
    /// Whether a command runs.
    pub is_running: bool,
}

impl Item {
    pub fn new(name: impl Into<String>, about: impl Into<String>, action: Action) -> Self {
        Self { name: name.into(), about: about.into(), mark: None, refusal: None, action }
    }

    /// One that is chosen or not.
    pub fn marked(self, mark: bool) -> Self {
        Self { mark: Some(mark), ..self }
    }

    /// One that cannot be had for a reason, if there is one.
    pub fn refused(self, refusal: Option<String>) -> Self {
        Self { refusal, ..self }
    }

    /// A line that only says something.
    pub fn said(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(name, "", Action::Nothing).refused(Some(why.into()))
    }
}
