//! How far off the clock's rate was, in words that claim no more than is known.

use super::record::ClockRow;
use terminal::ppm;

/// `within 0.031 ppm`; or, where it is off by more than it is known to, by how much and both.
pub fn words(clock: &ClockRow) -> String {
    of(clock.conversion_error_ppm, clock.conversion_uncertainty_ppm)
}

fn of(error: f64, known: Option<f64>) -> String {
    match known {
        Some(known) if error.abs() <= known => format!("within {}", ppm(known)),
        Some(known) => format!("{} ± {}", ppm(error), ppm(known)),
        // An older record does not say how well it is known.
        None => format!("{error:+.2} ppm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_than_is_known_is_no_figure() {
        assert_eq!(of(-0.0039, Some(0.031)), "within 0.031 ppm");
        assert_eq!(of(-0.512, Some(0.031)), "-0.51 ppm ± 0.031 ppm");
        assert_eq!(of(-0.0039, None), "-0.00 ppm");
    }
}
