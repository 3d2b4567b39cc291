//! The records of one machine: their list, the selected ones, and each of them in full.

use super::client::{Client, Question, all};
use super::fault::Fault;
use super::patience::Patience;
use crate::exchange::{JSON, MOST_SENT, WHOLE};
use anyhow::{Context, ensure};
use archive::{Entry, Name, PortableRecord};
use hyper::StatusCode;
use hyper::header::CONTENT_RANGE;

/// The most bytes of a list, and the most values in it: text of two bytes can become a value of 24.
const MOST_OF_LIST: u64 = 64 << 20;
const MOST_VALUES_OF_LIST: usize = 4_000_000;

/// Returns the list of the machine's records.
///
/// # Errors
/// It cannot be reached, or its answer is not a list.
pub async fn list(client: &mut Client, patience: &mut Patience) -> anyhow::Result<Vec<Entry>> {
    let content = loop {
        let mut content = Vec::new();
        let answer = client.ask(&Question::of("/records", JSON)).await;
        let read = match answer {
            Ok(response) => all(response, &mut content, MOST_OF_LIST).await,
            Err(fault) => Err(fault),
        };
        match read {
            Ok(()) => break content,
            Err(fault) => patience.after(fault).await?,
        }
    };
    patience.gained();
    ensure!(
        record::values(&content) <= MOST_VALUES_OF_LIST,
        "the server's list of records has more than {MOST_VALUES_OF_LIST} values"
    );
    let entries: Vec<Entry> = serde_json::from_slice(&content)
        .context("the server did not send a list of records; is it `contend serve`?")?;
    let is_name = |id: &str| matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure!(entries.iter().all(|entry| is_name(&entry.id)), "the server's list contains invalid record IDs");
    Ok(entries)
}

/// Returns the selected records.
///
/// # Errors
/// No record has this name.
pub fn wanted(entries: Vec<Entry>, what: Option<&str>) -> anyhow::Result<Vec<Entry>> {
    let Some(what) = what else { return Ok(entries) };
    let of_experiment: Vec<Entry> = entries.iter().filter(|entry| entry.summary.experiment == what).cloned().collect();
    if !of_experiment.is_empty() {
        return Ok(of_experiment);
    }
    Ok(vec![Name::of(what).among(&entries, |_| None)?.clone()])
}

/// Returns the record of this name, in spite of interruptions; the archive checks its hashes.
///
/// # Errors
/// It cannot be fetched, or the answer is not a record.
pub async fn one(client: &mut Client, id: &str, patience: &mut Patience) -> anyhow::Result<PortableRecord> {
    let (mut content, mut furthest) = (Vec::new(), 0);
    loop {
        match rest(client, id, &mut content).await {
            Ok(()) => break,
            Err(fault) => {
                client.hang_up();
                // A host that sends the same bytes again has made no progress.
                if content.len() > furthest {
                    furthest = content.len();
                    patience.gained();
                }
                patience.after(fault).await?;
            }
        }
    }
    patience.gained();
    let portable: PortableRecord =
        serde_json::from_slice(&content).with_context(|| format!("record {id}: the server did not send a record"))?;
    ensure!(portable.id == id, "record {id}: the server sent record {} instead", portable.id);
    portable.check_size().with_context(|| format!("record {id}: cannot archive it"))?;
    Ok(portable)
}

/// Requests the missing part.
async fn rest(client: &mut Client, id: &str, content: &mut Vec<u8>) -> Result<(), Fault> {
    let question = Question { from: content.len(), ..Question::of(format!("/records/{id}"), WHOLE) };
    let response = client.ask(&question).await?;
    if response.status() == StatusCode::PARTIAL_CONTENT {
        let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !range.starts_with(&format!("bytes {}-", content.len())) {
            content.clear();
            return Err(Fault::broken("the server sent another range than the requested one"));
        }
    } else {
        content.clear();
    }
    all(response, content, MOST_SENT).await
}
