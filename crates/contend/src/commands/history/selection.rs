//! A selection of records by machine and time.

use archive::{Catalogue, Entry};
use clap::Args;
use harness::UsageError;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;

/// The machine and the time of the selected records.
#[derive(Args, Clone, Debug)]
pub struct Selection {
    /// Only records of this machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Only records started since WHEN: a day (2026-11-21, UTC), or a time before now (12h, 7d, 4w)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

impl Selection {
    /// Returns the selected entries, of this experiment if it is given.
    ///
    /// # Errors
    /// `--since` is not a moment.
    pub fn of(&self, experiment: Option<&str>, entries: Vec<Entry>) -> anyhow::Result<Vec<Entry>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let moment = |text: &str| since(text, now).map_err(|error| UsageError(format!("--since {text}: {error}")));
        let from = self.since.as_deref().map(moment).transpose()?.unwrap_or(0);
        let is = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);
        let is_selected = |entry: &Entry| {
            let summary = &entry.summary;
            is(experiment, &summary.experiment)
                && is(self.host.as_deref(), &summary.host)
                && summary.started_unix_s >= from
        };
        Ok(entries.into_iter().filter(is_selected).collect())
    }

    /// Passes each selected record of this experiment to `take`; an unreadable one is skipped.
    ///
    /// # Errors
    /// `--since` is not a moment, or Git fails.
    pub fn each(
        &self,
        experiment: &str,
        catalogue: Catalogue,
        mut take: impl FnMut(&Entry, &Value),
    ) -> anyhow::Result<()> {
        let entries = self.of(Some(experiment), catalogue.entries)?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        catalogue.archive.each(&ids, |place, found| {
            let record = found.ok().and_then(|(content, _)| serde_json::from_slice::<Value>(&content).ok());
            record.into_iter().for_each(|record| take(&entries[place], &record));
        })
    }
}

/// Returns the moment of `text`, in seconds since 1970: a day in UTC (`2026-11-21`), or that long before `now_unix_s`
/// (`12h`, `7d`, `4w`).
fn since(text: &str, now_unix_s: u64) -> Result<u64, String> {
    let wrong = || "allowed: a date such as 2026-11-21, or a time before now such as 12h, 7d or 4w".to_owned();
    if text.contains('-') {
        let day = Date::strptime("%Y-%m-%d", text).and_then(|day| day.to_zoned(TimeZone::UTC)).map_err(|_| wrong())?;
        return u64::try_from(day.timestamp().as_second()).map_err(|_| wrong());
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let unit_s = [('h', 3_600), ('d', DAY_S), ('w', 7 * DAY_S)].into_iter().find(|(name, _)| *name == unit);
    let (_, unit_s) = unit_s.ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Ok(now_unix_s.saturating_sub(number.saturating_mul(unit_s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_means_its_first_moment() {
        assert_eq!(since("1970-01-02", 0), Ok(DAY_S));
        assert_eq!(since("2020-02-29", 0), Ok(1_582_934_400));
    }

    #[test]
    fn a_span_counts_back_from_now() {
        assert_eq!(since("12h", 100_000), Ok(100_000 - 43_200));
        assert_eq!(since("4w", 1_000), Ok(0));
        for wrong in ["", "7", "d", "7m", "2026-13-01", "2026-02-30", "2026-01", "1969-12-31", "-1d"] {
            assert!(since(wrong, 0).is_err(), "{wrong}");
        }
    }
}
