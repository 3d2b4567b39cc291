//! A record that is read back, shown by the experiment that made it.

use crate::experiments::{clock, latency, load, model, noise, ring, survey, throughput};
use crate::output::Show;
use crate::terminal::Page;
use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

/// The record of this experiment, on a page.
///
/// # Errors
/// An experiment that this version does not know, or a record that it cannot read.
pub fn shown(experiment: &str, content: &[u8], page: &Page) -> anyhow::Result<String> {
    match experiment {
        "survey" => read::<survey::SurveyRecord>(content, page),
        "clock" => read::<clock::ClockRecord>(content, page),
        "latency" => read::<latency::LatencyRecord>(content, page),
        "throughput" => read::<throughput::ThroughputRecord>(content, page),
        "noise" => read::<noise::NoiseRecord>(content, page),
        "load" => read::<load::LoadRecord>(content, page),
        "ring" => read::<ring::RingRecord>(content, page),
        "model frames" => read::<model::FramesRecord>(content, page),
        "model step" => read::<model::StepRecord>(content, page),
        _ => bail!("{experiment}: this contend knows no such experiment; a newer one may"),
    }
}

fn read<T: DeserializeOwned + Show>(content: &[u8], page: &Page) -> anyhow::Result<String> {
    let record: T =
        serde_json::from_slice(content).context("the record cannot be read; an older one may lack fields")?;
    Ok(record.show(page))
}
