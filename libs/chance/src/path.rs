//! One path through an experiment's draws, and the walk over all paths.
//!
//! The choices so far are a stack. A new run of the experiment takes its draws from the stack and pushes the first
//! alternative of each new draw. After the run, the last choice with an alternative left takes that alternative, and
//! the choices above it are dropped. The walk is depth-first and takes each path once, without a copy of the
//! experiment's state.
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
    /// The number of draws of this run so far.
    position: usize,
    most_draws: usize,
    most_paths: u64,
    paths: u64,
    fault: Option<Error>,
    /// The source of choices after a fault, so that every loop that chance ends still ends.
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

    /// Returns the alternative that this path takes in the next draw.
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

    /// Ends the enumeration with `fault` after the current run; the first fault is kept.
    pub(crate) fn fail(&mut self, fault: Error) {
        self.fault.get_or_insert(fault);
    }

    /// Returns a number with which a failed run can end.
    pub(crate) fn escape_unit(&mut self) -> f64 {
        self.escape.f64()
    }

    /// Ends a run and returns its fault, if there was one.
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

    /// Returns the weight and the total of each draw on this path.
    pub(crate) fn draws(&self) -> impl Iterator<Item = (u64, u64)> {
        self.choices.iter().map(|choice| (choice.weight, choice.total))
    }

    /// Advances to the next path; returns false after the last.
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
