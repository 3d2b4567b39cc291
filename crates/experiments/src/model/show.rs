//! The common output of both models.

use super::trace::Description;

/// Writes a time in a readable unit: `3.42 s`, `10.6 min`, `2.5 h`, `31 days`, `1.2e4 years`.
pub fn seconds(s: f64) -> String {
    const YEAR: f64 = 365.25 * 86_400.0;
    match s {
        s if s < 1.0 => terminal::nanoseconds(s * 1e9),
        s if s < 120.0 => format!("{s:.2} s"),
        s if s < 7_200.0 => format!("{:.1} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0),
        s if s < YEAR => format!("{:.1} days", s / 86_400.0),
        s if s < 1e4 * YEAR => format!("{:.0} years", s / YEAR),
        s if s < 1e9 * YEAR => format!("{:.1e} years", s / YEAR),
        _ => "over 1e9 years".to_owned(),
    }
}

/// Writes a probability in per cent, to four significant digits however small it is: tails matter here.
pub fn tiny(probability: f64) -> String {
    let percent = probability * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 1e-5 => format!("{p:.1e} %"),
        p => format!("{p:.*} %", (3 - p.log10().floor() as i32).max(0) as usize),
    }
}

/// Writes a value of the old page in per cent, with the digits that it was printed with.
pub fn printed(probability: f64) -> String {
    format!("{} %", (probability * 1e8).round() / 1e6)
}

/// Describes a trace in a line.
pub fn trace(trace: &Description) -> String {
    let gaps = terminal::count(trace.gaps as u64);
    let gaps = if trace.gaps == 1 { "1 gap".to_owned() } else { format!("{gaps} gaps") };
    let (lost, longest) = (terminal::percent(trace.lost_share), terminal::nanoseconds(trace.longest_gap_us * 1e3));
    format!("{}: {:.1} s, {gaps}, {lost} lost, the longest {longest}", trace.file, trace.span_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let shown = [0.5, 3.42, 637.0, 9_000.0, 2e5, 1e9, 1e13, 1e90].map(seconds);
        let wanted = ["500 ms", "3.42 s", "10.6 min", "2.5 h", "2.3 days", "32 years", "3.2e5 years", "over 1e9 years"];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn tails_keep_their_digits() {
        let shown = [0.0, 0.850_43, 0.000_024_31, 1.0, 1e-9].map(tiny);
        assert_eq!(shown, ["0 %", "85.04 %", "0.002431 %", "100.0 %", "1.0e-7 %"]);
        assert_eq!([0.85, 0.138, 0.011, 0.0006].map(printed), ["85 %", "13.8 %", "1.1 %", "0.06 %"]);
    }
}
