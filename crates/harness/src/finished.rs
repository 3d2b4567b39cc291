//! The output of an experiment, and the record made from it.

use crate::output::OutputFile;
use crate::session::Session;
use instruments::cpus::CpuSet;
use instruments::environment::ProbedPairs;
use instruments::warning::{self, Interrupted, Warning};
use record::{Record, RunEnvironment, SCHEMA};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// A record of any experiment.
pub type AnyRecord = Record<Value, Value>;

/// The output of any experiment.
pub type AnyFinished = Finished<Value, Value>;

/// The output of an experiment: parameters and rows, and the data that accompany them.
pub struct Finished<P, R> {
    pub parameters: P,
    pub rows: Vec<R>,
    /// The warnings of the measurement itself.
    pub warnings: Vec<Warning>,
    conditions: Conditions,
    /// Whether the rows were already printed during the measurement.
    pub is_printed: bool,
    /// Files in addition to the record, and their content.
    pub files: Vec<(OutputFile, anyhow::Result<Vec<u8>>)>,
    /// The reasons why the command fails although the record is good.
    pub failures: Vec<String>,
    /// The limits that were exceeded, which ended the measurement or make the command fail.
    pub exceeded: Vec<String>,
    /// The number of files that stay in the directory of `--output`, where each part of a run has one.
    pub keep: Option<usize>,
    /// The exit status of the measured program, which becomes that of the command.
    pub program_status: Option<u8>,
}

/// The influence that the machine may have had on the values.
enum Conditions {
    Measured {
        cpus: CpuSet,
        /// The planned duration; `None` without a planned end.
        planned: Option<Duration>,
        /// The codes of warnings of the machine that do not apply here.
        moot: Vec<&'static str>,
        /// The CPUs that were found to share a core, if that was tried.
        probed: Option<ProbedPairs>,
    },
    Computed,
    /// The environment in a record that another program wrote, which has its own warnings.
    Elsewhere(Box<RunEnvironment>),
}

impl<P, R> Finished<P, R> {
    /// Creates the output of a measurement on these CPUs.
    pub fn measured(
        parameters: P,
        rows: Vec<R>,
        warnings: Vec<Warning>,
        cpus: CpuSet,
        planned: Option<Duration>,
    ) -> Self {
        Self::of(parameters, rows, warnings, Conditions::Measured { cpus, planned, moot: Vec::new(), probed: None })
    }

    /// Creates the output of a computation, for which the state of the machine is not a reason for a warning.
    pub fn computed(parameters: P, rows: Vec<R>, warnings: Vec<Warning>) -> Self {
        Self::of(parameters, rows, warnings, Conditions::Computed)
    }

    /// Creates the output of another program's measurement: its record unchanged, with its environment.
    pub fn elsewhere(parameters: P, rows: Vec<R>, warnings: Vec<Warning>, environment: RunEnvironment) -> Self {
        Self::of(parameters, rows, warnings, Conditions::Elsewhere(Box::new(environment)))
    }

    fn of(parameters: P, rows: Vec<R>, warnings: Vec<Warning>, conditions: Conditions) -> Self {
        let (files, failures, exceeded) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            parameters,
            rows,
            warnings,
            conditions,
            is_printed: false,
            files,
            failures,
            exceeded,
            keep: None,
            program_status: None,
        }
    }

    /// Adds limits that were exceeded.
    pub fn exceeded_by(mut self, found: impl IntoIterator<Item = String>) -> Self {
        self.exceeded.extend(found);
        self
    }

    /// Adds the CPUs that were found to share a core to the environment of the record.
    pub fn with_probed(mut self, found: Option<ProbedPairs>) -> Self {
        if let Conditions::Measured { probed, .. } = &mut self.conditions {
            *probed = found;
        }
        self
    }

    /// Omits warnings of the machine that do not apply here, by their codes.
    pub fn without(mut self, codes: impl IntoIterator<Item = &'static str>) -> Self {
        if let Conditions::Measured { moot, .. } = &mut self.conditions {
            moot.extend(codes);
        }
        self
    }
}

impl AnyFinished {
    /// Takes the record.
    ///
    /// To the measurement's own warnings it adds those of the environment and those of other activity on the CPUs
    /// during the run.
    pub fn take_record(&mut self, experiment: &str, session: &Session) -> AnyRecord {
        let seen = std::mem::take(&mut self.warnings);
        let warnings = self.conditions.warnings(session).into_iter().chain(seen).collect();
        let (parameters, results) = (std::mem::take(&mut self.parameters), std::mem::take(&mut self.rows));
        Record {
            schema: SCHEMA.to_owned(),
            experiment: experiment.to_owned(),
            environment: self.conditions.environment(session),
            parameters,
            results,
            ranking: Vec::new(),
            warnings,
        }
    }
}

impl<P: Serialize, R: Serialize> Finished<P, R> {
    /// Removes the types.
    pub fn erased(self) -> serde_json::Result<AnyFinished> {
        Ok(Finished {
            parameters: serde_json::to_value(self.parameters)?,
            rows: self.rows.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?,
            warnings: self.warnings,
            conditions: self.conditions,
            is_printed: self.is_printed,
            files: self.files,
            failures: self.failures,
            exceeded: self.exceeded,
            keep: self.keep,
            program_status: self.program_status,
        })
    }
}

impl Conditions {
    fn environment(&self, session: &Session) -> RunEnvironment {
        match self {
            Self::Elsewhere(environment) => (**environment).clone(),
            Self::Measured { probed: Some(probed), .. } => {
                let mut environment = environment(session);
                environment.machine.cpu.probed = Some(probed.clone());
                environment
            }
            Self::Measured { .. } | Self::Computed => environment(session),
        }
    }

    fn warnings(&self, session: &Session) -> Vec<Warning> {
        let Self::Measured { cpus, planned, moot, .. } = self else { return Vec::new() };
        // The pairs of CPUs that this run has measured replace those of an earlier one.
        let mut warnings = warning::standing(&self.environment(session).machine, cpus, session.started_unix_s());
        warnings.extend(session.disturbances(cpus));
        warnings.extend(session.cpus_taken(cpus).map(Warning::from));
        // A run without a planned end cannot fall short of it.
        let planned = planned.filter(|_| session.is_cut_short());
        warnings.extend(planned.map(|planned| {
            Warning::from(Interrupted {
                measured_s: session.elapsed().as_secs_f64(),
                planned_s: Some(planned.as_secs_f64()),
            })
        }));
        warnings.retain(|warning| !moot.contains(&warning.code()));
        warnings
    }
}

/// Returns the state of the machine, and the call, for a record.
pub fn environment(session: &Session) -> RunEnvironment {
    RunEnvironment {
        contend: env!("CARGO_PKG_VERSION").to_owned(),
        // The number of the live view's pipe has no meaning when the command is repeated.
        command_line: std::env::args().skip(1).filter(|word| !word.starts_with("--live-to=")).collect(),
        seed: session.seed,
        started_unix_s: session.started_unix_s(),
        interrupted: session.is_cut_short(),
        machine: session.environment.clone(),
    }
}
