//! Moments in words, in UTC: records travel between time zones.

use jiff::Timestamp;

/// A moment, in seconds since 1970, as `2026-11-21 10:09`.
pub fn moment(unix_s: u64) -> String {
    match i64::try_from(unix_s).ok().and_then(|second| Timestamp::from_second(second).ok()) {
        Some(moment) => moment.strftime("%Y-%m-%d %H:%M").to_string(),
        // Somebody else's record may have any number.
        None => format!("{unix_s} s after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc() {
        assert_eq!(moment(0), "1970-01-01 00:00");
        assert_eq!(moment(1_582_934_400 + 61), "2020-02-29 00:01");
        assert_eq!(moment(u64::MAX), "18446744073709551615 s after 1970");
    }
}
