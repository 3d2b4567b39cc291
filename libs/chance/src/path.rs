//! One path through an experiment's draws, and the walk over all paths.
//!
//! The choices made so far are a stack. Running the experiment again answers its draws from the stack and pushes the
//! first alternative of each new draw. Afterwards the last choice that has an alternative left takes it, and the ones
//! above it are dropped: depth first, each path once, no copy of the experiment's state.
use fastrand::Rng;

use crate::{Error, Limits};

#[derive(Debug)]
struct Choice {
    taken: u64,
    alternatives: u64,
    weight: u64,
    total: u64,
}

#[derive(Debug)]
pub(crate) struct Path {
    choices: Vec<Choice>,
    /// Draws of this run answered so far.
    position: usize,
    most_draws: usize,
    most_paths: u64,
    paths: u64,
    fault: Option<Error>,
    /// Finishes a run after a fault: any loop that chance ends is still ended.
    escape: Rng,
}

impl Path {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            choices: Vec::new(),
            position: 0,
            most_draws: limits.draws,
            most_paths: limits.paths,
            paths: 0,
            fault: None,
            escape: Rng::with_seed(0),
        }
    }

    /// The alternative this path takes in the next draw.
    pub(crate) fn choose(&mut self, alternatives: u64, total: u64, weight: impl Fn(u64) -> u64) -> u64 {
        if self.position == self.most_draws {
            self.fail(Error::TooManyDraws { draws: self.most_draws });
        }
        if self.fault.is_some() {
            return self.escape.u64(..alternatives);
        }
        if self.position == self.choices.len() {
            self.choices.push(Choice { taken: 0, alternatives, weight: 0, total });
        }
        let choice = &mut self.choices[self.position];
        self.position += 1;
        if (choice.alternatives, choice.total) != (alternatives, total) {
            self.fail(Error::Unrepeatable);
            return self.escape.u64(..alternatives);
        }
        choice.weight = weight(choice.taken);
        choice.taken
    }

    /// Ends the enumeration with `fault` once the current run is over; the first fault stays.
    pub(crate) fn fail(&mut self, fault: Error) {
        self.fault.get_or_insert(fault);
    }

    /// A number to finish a failed run with.
    pub(crate) fn escape_unit(&mut self) -> f64 {
        self.escape.f64()
    }

    /// Closes a run, with the fault that spoiled it if one did.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.position != self.choices.len() {
            return Err(Error::Unrepeatable);
        }
        self.paths += 1;
        if self.paths > self.most_paths {
            return Err(Error::TooManyPaths { paths: self.most_paths });
        }
        Ok(())
    }

    /// The weight and the total of each draw on this path.
    pub(crate) fn draws(&self) -> impl Iterator<Item = (u64, u64)> {
        self.choices.iter().map(|choice| (choice.weight, choice.total))
    }

    /// Moves on to the next path; false after the last.
    pub(crate) fn advance(&mut self) -> bool {
        self.position = 0;
        while let Some(last) = self.choices.last_mut() {
            last.taken += 1;
            if last.taken < last.alternatives {
                return true;
            }
            self.choices.pop();
        }
        false
    }
}
