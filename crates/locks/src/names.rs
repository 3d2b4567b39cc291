//! The names that a command line may have.

use crate::object;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// Takes the names of the registry, and paths of shared objects.
#[derive(Clone)]
pub struct LockNames(PossibleValuesParser);

impl LockNames {
    pub fn new(known: Vec<PossibleValue>) -> Self {
        Self(known.into())
    }
}

impl TypedValueParser for LockNames {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        match value.to_str().filter(|name| object::is_path(name)) {
            Some(path) => Ok(path.to_owned()),
            None => self.0.parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}
