//! What an experiment leaves, and the record that comes of it.

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

/// What an experiment of any kind leaves.
pub type AnyFinished = Finished<Value, Value>;

/// What an experiment leaves: parameters and rows, and what goes beside them.
pub struct Finished<P, R> {
    pub parameters: P,
    pub rows: Vec<R>,
    /// What the measurement itself has to say.
    pub warnings: Vec<Warning>,
    conditions: Conditions,
    /// Whether the rows were printed as they came.
    pub is_printed: bool,
    /// Files beside the record, and what goes into them.
    pub files: Vec<(OutputFile, anyhow::Result<Vec<u8>>)>,
    /// Why the command fails although the record is good.
    pub failures: Vec<String>,
    /// What was found that was not to be, and ended it or fails the command.
    pub exceeded: Vec<String>,
    /// The exit status of the program that was run, which becomes the command's.
    pub program_status: Option<u8>,
}

/// What the machine could do to the figures.
enum Conditions {
    Measured {
        cpus: CpuSet,
        /// How long it should have taken; `None` for what has no planned end.
        planned: Option<Duration>,
        /// Codes of warnings of the machine that are no reason to warn here.
        moot: Vec<&'static str>,
        /// What was found of which CPUs share a core, if that was tried.
        probed: Option<ProbedPairs>,
    },
    Computed,
    /// Of a record that another program wrote, which has warnings of its own.
    Elsewhere(Box<RunEnvironment>),
}

impl<P, R> Finished<P, R> {
    /// What was measured on these CPUs.
    pub fn measured(
        parameters: P,
        rows: Vec<R>,
        warnings: Vec<Warning>,
        cpus: CpuSet,
        planned: Option<Duration>,
    ) -> Self {
        Self::of(parameters, rows, warnings, Conditions::Measured { cpus, planned, moot: Vec::new(), probed: None })
    }

    /// What was computed: what the machine did meanwhile is no reason for a warning.
    pub fn computed(parameters: P, rows: Vec<R>, warnings: Vec<Warning>) -> Self {
        Self::of(parameters, rows, warnings, Conditions::Computed)
    }

    /// What another program measured, and where: its record as it is.
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
            program_status: None,
        }
    }

    /// What was found that was not to be.
    pub fn exceeded_by(mut self, found: impl IntoIterator<Item = String>) -> Self {
        self.exceeded.extend(found);
        self
    }

    /// The same as a part of something wider.
    pub fn map<Q, S>(self, parameters: impl FnOnce(P) -> Q, row: impl FnMut(R) -> S) -> Finished<Q, S> {
        let Self { parameters: own, rows, warnings, conditions, is_printed, files, failures, exceeded, program_status } =
            self;
        let (parameters, rows) = (parameters(own), rows.into_iter().map(row).collect());
        Finished { parameters, rows, warnings, conditions, is_printed, files, failures, exceeded, program_status }
    }

    /// With what it found of which CPUs share a core: the environment of its record has it.
    pub fn with_probed(mut self, found: Option<ProbedPairs>) -> Self {
        if let Conditions::Measured { probed, .. } = &mut self.conditions {
            *probed = found;
        }
        self
    }

    /// Leaves out warnings of the machine that are no reason to warn here, by their codes.
    pub fn without(mut self, codes: impl IntoIterator<Item = &'static str>) -> Self {
        if let Conditions::Measured { moot, .. } = &mut self.conditions {
            moot.extend(codes);
        }
        self
    }
}

impl AnyFinished {
    /// Takes the record out. To the measurement's own warnings it adds those that the environment gives and those of
    /// what else happened on the CPUs meanwhile.
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
    /// The same without its types.
    pub fn erased(self) -> serde_json::Result<AnyFinished> {
        let Self { parameters, rows, warnings, conditions, is_printed, files, failures, exceeded, program_status } =
            self;
        let parameters = serde_json::to_value(parameters)?;
        let rows = rows.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        Ok(Finished { parameters, rows, warnings, conditions, is_printed, files, failures, exceeded, program_status })
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
        let mut warnings = warning::standing(&session.environment, cpus);
        warnings.extend(session.disturbances(cpus));
        warnings.extend(session.cpus_taken(cpus).map(Warning::from));
        // What has no planned end cannot fall short of it.
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

fn environment(session: &Session) -> RunEnvironment {
    RunEnvironment {
        contend: env!("CARGO_PKG_VERSION").to_owned(),
        // Who looked on is nobody's who repeats it.
        command_line: std::env::args().skip(1).filter(|word| !word.starts_with("--live-to=")).collect(),
        seed: session.seed,
        started_unix_s: session.started_unix_s(),
        interrupted: session.is_cut_short(),
        machine: session.environment.clone(),
    }
}
