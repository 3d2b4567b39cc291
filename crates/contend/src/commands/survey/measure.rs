//! The measurement: one experiment after the other with the same instruments. One that fails does not cost the others.

use super::findings;
use super::plan::{Part, PartPlan, Plan};
use super::record::{Parameters, Row};
use super::then_and_now;
use crate::apparatus::Apparatus;
use crate::experiments::model::Trace;
use crate::experiments::{clock, latency, load, model, noise, ring, throughput};
use crate::session::Session;
use instruments::warning::Warning;
use std::time::Duration;

/// What the survey brought.
#[derive(Default)]
pub struct Measured {
    pub rows: Vec<Row>,
    pub parameters: Parameters,
    pub warnings: Vec<Warning>,
    /// The interruptions of the quiet machine, for the model.
    noise: Option<Trace>,
}

/// A step of the machines in lock-step.
const STEP: Duration = Duration::from_millis(1);

/// Runs the experiments of the plan, and tells `note` what it is at.
///
/// # Errors
/// The clock cannot be calibrated: the CPU may not be used after all.
pub fn run_plan(plan: &Plan, session: &Session, note: impl Fn(&str) + Sync) -> anyhow::Result<Measured> {
    let mut measured = Measured { parameters: Parameters::of(plan), ..Measured::default() };
    note("calibrating");
    let apparatus = plan.measures().then(|| Apparatus::calibrate(session)).transpose()?;
    measured.warnings.extend(apparatus.iter().flat_map(Apparatus::warnings));
    for part in &plan.parts {
        if session.interruption.asked() {
            break;
        }
        let within = session.within(part.budget);
        let note = |what: &str| note(&format!("{}: {what}", part.part.name()));
        let outcome = match &apparatus {
            Some(apparatus) if part.part != Part::Model => measured.run(part, &within, apparatus, note),
            _ => measured.compute(part, &within, note),
        };
        if let Err(error) = outcome {
            measured.fail(part.part.name(), &format!("{error:#}"));
        }
    }
    let compared = then_and_now::comparison(&measured.rows);
    let found = findings::findings(&measured.rows);
    measured.rows.extend(compared.into_iter().map(Row::ThenAndNow));
    measured.rows.extend(found.into_iter().map(Row::Finding));
    measured.warnings = without_repeats(measured.warnings);
    Ok(measured)
}

impl Measured {
    fn run(
        &mut self,
        part: &PartPlan,
        session: &Session,
        apparatus: &Apparatus,
        note: impl Fn(&str) + Sync,
    ) -> anyhow::Result<()> {
        match part.part {
            Part::Clock => {
                let plan = clock::Plan::of(&part.flags()?, session);
                let rows = clock::run_plan(&plan, session, apparatus, note)?;
                self.parameters.clock = Some(plan.parameters());
                self.rows.extend(rows.into_iter().map(Row::Clock));
            }
            Part::Latency => {
                let plan = latency::Plan::of(&part.flags()?, session)?;
                let found = latency::run_plan(&plan, session, apparatus, note)?;
                self.parameters.latency = Some(plan.parameters(found.order));
                self.add(found.rows, |row| Row::Latency(row.into()), found.warnings);
            }
            Part::Throughput => {
                let plan = throughput::Plan::of(&part.flags()?, session)?;
                let found = throughput::run_plan(&plan, session, apparatus, note)?;
                self.parameters.throughput = Some(plan.parameters(found.order));
                self.add(found.rows, |row| Row::Throughput(row.into()), found.warnings);
            }
            Part::Noise => self.noise(part, session, apparatus, note)?,
            Part::Load => {
                let plan = load::Plan::of(&part.flags()?, true, session)?;
                let (rows, parameters, warnings) = load::run_plan(&plan, session, apparatus, note)?;
                self.parameters.load = Some(parameters);
                self.add(rows, Row::Load, warnings);
            }
            Part::Ring => self.ring(part, session, note)?,
            Part::Model => self.compute(part, session, note)?,
        }
        Ok(())
    }

    fn add<R>(&mut self, rows: Vec<R>, into: impl Fn(R) -> Row, warnings: Vec<Warning>) {
        self.rows.extend(rows.into_iter().map(into));
        self.warnings.extend(warnings);
    }

    /// Keeps the gaps of its first cell, the quiet one, for the model.
    fn noise(
        &mut self,
        part: &PartPlan,
        session: &Session,
        apparatus: &Apparatus,
        note: impl Fn(&str),
    ) -> anyhow::Result<()> {
        let plan = noise::Plan { keeps_gaps: true, ..noise::Plan::of(&part.flags()?, session)? };
        let found = noise::run_plan(&plan, session, apparatus.clock(), note, |_| std::ops::ControlFlow::Continue(()))?;
        self.parameters.noise = Some(plan.parameters(found.order));
        self.add(found.rows, |row| Row::Noise(row.into()), found.warnings);
        let kept = found.kept.joined();
        let gaps = kept.gaps.iter().map(|gap| (gap.start_ns, gap.duration_ns));
        // Without gaps there is no noise to put into lock-step, and that is no failure.
        self.noise = Trace::measured("the quiet turns of this survey", gaps, kept.span_ns).ok();
        Ok(())
    }

    /// A contestant that fails is the ring's, but the others' hops are good.
    fn ring(&mut self, part: &PartPlan, session: &Session, note: impl Fn(&str) + Sync) -> anyhow::Result<()> {
        let flags: ring::Flags = part.flags()?;
        let plan = ring::Plan::of(&flags, session)?;
        let found = ring::run_plan(&plan, session, note)?;
        ring::failures(&found.rows).iter().for_each(|failure| self.fail("ring", failure));
        self.parameters.ring = Some(plan.parameters(&flags, session, found.absent, found.order));
        self.add(found.rows, |row| Row::Ring(row.into()), found.warnings);
        Ok(())
    }

    fn compute(&mut self, part: &PartPlan, session: &Session, note: impl Fn(&str)) -> anyhow::Result<()> {
        note("frames");
        let frames = model::frames(&part.flags()?, session)?;
        self.parameters.frames = Some(frames.parameters);
        self.add(frames.results, Row::Frames, frames.warnings);
        note("lock-step");
        let Some(trace) = self.noise.take() else {
            let reason = "the survey has no trace of this machine's noise".to_owned();
            self.warnings.push(Warning::LeftOut { what: "the model of machines in lock-step".into(), reason });
            return Ok(());
        };
        let step = model::step(trace, STEP, session)?;
        self.parameters.step = Some(step.parameters);
        self.add(step.results, Row::Step, step.warnings);
        Ok(())
    }

    fn fail(&mut self, experiment: &str, reason: &str) {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        self.warnings.push(Warning::ExperimentFailed { experiment: experiment.to_owned(), reason });
    }
}

/// Several experiments say the same of the machine.
fn without_repeats(warnings: Vec<Warning>) -> Vec<Warning> {
    warnings.into_iter().fold(Vec::new(), |mut kept, warning| {
        if !kept.contains(&warning) {
            kept.push(warning);
        }
        kept
    })
}
