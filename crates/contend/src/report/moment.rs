//! A moment in words, in UTC.

/// `2026-11-21 10:09 UTC` for seconds since 1970. The day is counted in eras of 400 years that begin in March, so that
/// the leap day is the last of its year.
pub fn words(unix_s: u64) -> String {
    let (days, seconds) = (unix_s / 86_400, unix_s % 86_400);
    let since_march_0 = days + 719_468;
    let (era, day_of_era) = (since_march_0 / 146_097, since_march_0 % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3_600, seconds % 3_600 / 60)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn leap_days_and_ends_of_years() {
        assert_eq!(words(0), "1970-01-01 00:00 UTC");
        assert_eq!(words(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(words(1_704_067_199), "2023-12-31 23:59 UTC");
        assert!(words(u64::MAX).ends_with("UTC"));
    }
}
