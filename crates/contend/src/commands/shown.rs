//! A record that is read back, shown by the experiment that made it.

use super::survey;
use anyhow::Context;
use harness::AnyRecord;
use terminal::Page;

/// The record of this experiment, on a page.
///
/// # Errors
/// An experiment that this version does not know, or a record that it cannot read.
pub fn shown(experiment: &str, content: &[u8], page: &Page) -> anyhow::Result<String> {
    const UNREADABLE: &str = "the record cannot be read; an older one may lack fields";
    let record: AnyRecord = serde_json::from_slice(content).context(UNREADABLE)?;
    if experiment == survey::NAME {
        return survey::shown(&record, page).context(UNREADABLE);
    }
    let entry = experiments::named(experiment)
        .with_context(|| format!("{experiment}: this contend knows no such experiment; a newer one may"))?;
    entry.show(&record, page).context(UNREADABLE)
}
