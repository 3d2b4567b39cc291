//! A trace as a file: the evidence, which `contend explain FILE` diagnoses again, here or on another machine.
//!
//! It is JSON that is compressed by gzip, so that `zcat` shows what leaves the machine.

use super::observed::{Judged, Observed};
use anyhow::{Context, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use record::{Record, RunEnvironment, SCHEMA};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

/// The version of the layout.
const FORMAT: &str = "contend/evidence/1";
/// The first bytes of such a file.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes of the text that are read at most. That of a minute of a server with hundreds of threads has a few million.
const MOST_BYTES: u64 = 256 << 20;

/// The content of a file.
#[derive(Serialize, Deserialize)]
pub struct Saved {
    format: String,
    environment: RunEnvironment,
    observed: Observed,
}

impl Saved {
    pub fn new(environment: RunEnvironment, observed: Observed) -> Self {
        Self { format: FORMAT.to_owned(), environment, observed }
    }

    /// Returns the content of the file.
    ///
    /// # Errors
    /// A value cannot be written.
    pub fn content(&self) -> anyhow::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut encoder, self)?;
        encoder.flush()?;
        Ok(encoder.finish()?)
    }

    /// Reads a file, which may come from anywhere.
    ///
    /// # Errors
    /// It cannot be read, is another file, or its parts do not fit together.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("{name}: cannot be read"))?;
        Self::of(BufReader::new(file))
            .with_context(|| format!("{name}: not the evidence of a trace, as `contend trace --save {name}` writes it"))
    }

    /// Reads the content of such a file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of(mut file: impl Read) -> anyhow::Result<Self> {
        let mut magic = [0; 2];
        file.read_exact(&mut magic).context("it is empty")?;
        ensure!(magic == MAGIC, "it is not compressed by gzip");
        let mut text = Vec::new();
        GzDecoder::new(magic.as_slice().chain(file)).take(MOST_BYTES).read_to_end(&mut text)?;
        ensure!((text.len() as u64) < MOST_BYTES, "it is longer than {} MiB", MOST_BYTES >> 20);
        let saved: Self = serde_json::from_slice(&text)?;
        ensure!(saved.format == FORMAT, "it has the layout {}, and this contend reads {FORMAT}", saved.format);
        saved.observed.evidence.check()?;
        Ok(saved)
    }

    /// Returns the record of the trace, diagnosed now.
    ///
    /// # Errors
    /// A value cannot be written.
    pub fn record(&self) -> anyhow::Result<Record<Value, Value>> {
        let Judged { parameters, rows, warnings } = self.observed.judged();
        Ok(Record {
            schema: SCHEMA.to_owned(),
            experiment: "trace".to_owned(),
            environment: self.environment.clone(),
            parameters: serde_json::to_value(parameters)?,
            results: rows.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?,
            ranking: Vec::new(),
            warnings,
        })
    }
}
