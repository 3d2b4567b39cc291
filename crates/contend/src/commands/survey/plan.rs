//! The plan: the experiments, their flags, and the time of each. A part of the survey is the experiment that the user
//! could run alone with the same flags.

use super::flags::Flags;
use crate::commands::survey_record::PartParameters;
use harness::{Entry, Session, SurveyPart, UsageError};
use std::time::Duration;

/// The default: with the calibration and the last repetitions of the parts, a minute.
const DEFAULT_BUDGET: Duration = Duration::from_secs(56);
const THOROUGH_BUDGET: Duration = Duration::from_secs(100);

/// The input of the measurement.
pub struct Plan {
    /// The time for all parts.
    pub budget: Duration,
    pub parts: Vec<Part>,
}

/// An experiment as a part of the survey, and its time.
#[derive(Clone, Copy)]
pub struct Part {
    pub entry: &'static Entry,
    pub short: SurveyPart,
    pub budget: Duration,
}

impl Plan {
    /// Divides the session's budget, 56 s by default, between the selected parts.
    ///
    /// # Errors
    /// No part is left, or the time is given twice.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        if flags.thorough && session.seconds.is_some() {
            return Err(UsageError("--thorough cannot be combined with --seconds; omit one of them".into()));
        }
        let usual = if flags.thorough { THOROUGH_BUDGET } else { DEFAULT_BUDGET };
        let budget = session.seconds.unwrap_or(usual);
        let wanted = experiments::ALL.iter().filter(|entry| flags.wants(entry.words().0));
        let wanted: Vec<(&Entry, SurveyPart)> = wanted.filter_map(|entry| Some((entry, entry.survey?))).collect();
        if wanted.is_empty() {
            let names = super::flags::names().join(", ");
            return Err(UsageError(format!("--skip: no experiment is left; keep at least one of {names}")));
        }
        let all: u32 = wanted.iter().map(|(_, short)| short.weight).sum();
        let share = |short: SurveyPart| budget * short.weight / all.max(1);
        let parts = wanted.into_iter().map(|(entry, short)| Part { entry, short, budget: share(short) });
        Ok(Self { budget, parts: parts.collect() })
    }
}

impl Part {
    /// Returns the description for the record.
    pub fn parameters(&self) -> PartParameters {
        let budget_s = self.budget.as_secs_f64();
        // A computed part needs no time.
        let seconds = if self.short.weight == 0 { String::new() } else { format!(" --seconds {budget_s:.1}") };
        let words = [self.entry.name, self.short.flags].join(" ");
        let command = format!("contend {}{seconds}", words.trim());
        PartParameters { experiment: self.entry.name.to_owned(), command, budget_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_can_run_alone() {
        let entry = experiments::named("load").unwrap();
        let part = Part { entry, short: entry.survey.unwrap(), budget: Duration::from_millis(7_200) };
        assert_eq!(part.parameters().command, "contend load --grinders 2 --interval 500ms --seconds 7.2");
    }
}
