//! The values of the old documents next to today's.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use serde::{Deserialize, Serialize};

/// A value that one of the old documents gives, and today's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThenAndNow {
    /// The year of the document.
    #[serde(default = "first_year")]
    pub year: u16,
    /// The name of the value.
    pub figure: String,
    pub unit: Unit,
    /// The value of the document. 1998: on a Pentium II at 350 MHz (locks) or a Pentium Pro at 200 MHz (clock) under
    /// BeOS; 2002: on two Pentium III at 550 MHz; 2008: on an Athlon 64 X2 at 3 GHz.
    pub then: f64,
    /// Today's value; `null` when today's measurement has nothing that corresponds.
    pub today: Option<f64>,
    /// The 95 % CI of today's value.
    pub today_ci: Option<Interval>,
    /// The quotient of `then` and `today`.
    pub ratio: Option<f64>,
    /// The interval of the ratio that follows from the interval of today's value.
    pub ratio_ci: Option<Interval>,
    /// Whether it is a detail that the closing screen omits.
    #[serde(default)]
    pub detail: bool,
    /// The reason why there is no value of today.
    pub note: Option<String>,
}

fn first_year() -> u16 {
    1998
}

impl ThenAndNow {
    /// Creates the pair of a value of that year and today's.
    pub fn new(year: u16, figure: &str, unit: Unit, then: f64, today: Option<Estimate>) -> Self {
        let known = today.filter(|today| today.value > 0.0);
        let ends = known.and_then(|today| today.interval).filter(|ends| ends.low > 0.0);
        Self {
            year,
            figure: figure.to_owned(),
            unit,
            then,
            today: today.map(|today| today.value),
            today_ci: today.and_then(|today| today.interval),
            ratio: known.map(|today| then / today.value),
            ratio_ci: ends.map(|ends| Interval::new(then / ends.high, then / ends.low)),
            detail: false,
            note: today.is_none().then(|| "not seen".to_owned()),
        }
    }

    /// Marks a detail that the closing screen omits.
    pub fn detail(self) -> Self {
        Self { detail: true, ..self }
    }

    /// Gives the reason why there is no value of today, if there is none.
    pub fn or(self, why: &str) -> Self {
        let note = self.note.map(|_| why.to_owned());
        Self { note, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_and_its_ends_are_then_over_today() {
        let today = Estimate::new(14.0, Some(Interval::new(10.0, 20.0)));
        let compared = ThenAndNow::new(1998, "", Unit::Ns, 280.0, Some(today));
        assert_eq!((compared.ratio, compared.ratio_ci), (Some(20.0), Some(Interval::new(14.0, 28.0))));
        assert_eq!(ThenAndNow::new(1998, "", Unit::Ns, 280.0, Some(0.0.into())).ratio, None);
        let unseen = ThenAndNow::new(1998, "", Unit::Ns, 280.0, None);
        assert_eq!((unseen.ratio, unseen.note.as_deref()), (None, Some("not seen")));
    }
}
