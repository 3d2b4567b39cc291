//! Moments in words, in UTC: records travel between time zones.

/// A moment as `2026-11-21 10:09`.
pub fn moment(unix_s: u64) -> String {
    let (year, month, day) = date_of(unix_s / DAY_S);
    let minutes = unix_s % DAY_S / 60;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

/// The moment that `text` means: a day (`2026-11-21`), or that long before `now_unix_s` (`12h`, `7d`, `4w`).
///
/// # Errors
/// What would be right.
pub fn since(text: &str, now_unix_s: u64) -> Result<u64, String> {
    let wrong = || "write a day like 2026-11-21, or a time before now like 12h, 7d or 4w".to_owned();
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| wrong());
    if let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] {
        let (year, month, day) = (number(year)?, number(month)?, number(day)?);
        let known = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        return if known { Ok(days_until(year, month, day) * DAY_S) } else { Err(wrong()) };
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let unit_s = [('h', 3_600), ('d', DAY_S), ('w', 7 * DAY_S)].into_iter().find(|(name, _)| *name == unit);
    let (_, unit_s) = unit_s.ok_or_else(wrong)?;
    Ok(now_unix_s.saturating_sub(number(&text[..text.len() - 1])?.saturating_mul(unit_s)))
}

const DAY_S: u64 = 86_400;

// Both ways after Howard Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that the leap day
// is the last one, and 400 of them have 146,097 days.

fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

fn days_until(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read_back() {
        assert_eq!(moment(0), "1970-01-01 00:00");
        assert!(!moment(u64::MAX).is_empty());
        assert_eq!(moment(1_582_934_400 + 61), "2020-02-29 00:01");
        for day in (0..40_000).step_by(7) {
            let text = moment(day * DAY_S);
            assert_eq!(since(&text[..10], 0), Ok(day * DAY_S));
        }
    }

    #[test]
    fn a_span_counts_back_from_now() {
        assert_eq!(since("12h", 100_000), Ok(100_000 - 43_200));
        assert_eq!(since("4w", 1_000), Ok(0));
        for wrong in ["", "7", "d", "7m", "2026-13-01", "2026-01", "-1d"] {
            assert!(since(wrong, 0).is_err(), "{wrong}");
        }
    }
}
