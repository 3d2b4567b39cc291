//! The flags of a mode: an experiment that a flag of another one's command selects, as `contend trace --swap` does.

use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The flags that a mode adds to the command, and those that it shares with the rest of the command.
#[derive(Clone, Debug)]
pub struct ModeFlags<Own, Shared> {
    pub own: Own,
    pub shared: Shared,
}

impl<Own: FromArgMatches, Shared: FromArgMatches> FromArgMatches for ModeFlags<Own, Shared> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { own: Own::from_arg_matches(matches)?, shared: Shared::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.own.update_from_arg_matches(matches)?;
        self.shared.update_from_arg_matches(matches)
    }
}

/// Only the mode's own flags are added: the command already has the others.
impl<Own: Args, Shared: FromArgMatches> Args for ModeFlags<Own, Shared> {
    fn augment_args(command: Command) -> Command {
        Own::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Own::augment_args_for_update(command)
    }
}
