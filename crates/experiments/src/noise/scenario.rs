//! What runs beside the reader, and at which rank.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The load next to the sampling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// no load from contend
    Quiet,
    /// competing threads
    Competitor,
    /// competing threads and a rescheduler
    Both,
    /// a rescheduler
    Rescheduler,
}

/// Nice values of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nice {
    pub reader: i32,
    pub competitor: i32,
}

impl FromStr for Nice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = |part: &str| match part.trim().parse() {
            Ok(nice @ -20..=19) => Ok(nice),
            _ => Err(format!("`{part}` is not a nice value from -20 to 19")),
        };
        let (reader, competitor) = text
            .split_once(',')
            .ok_or("needs two values, of the sampling thread and of the competitors, such as -12,19")?;
        Ok(Self { reader: value(reader)?, competitor: value(competitor)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_values_come_in_pairs() {
        assert_eq!("-12,19".parse(), Ok(Nice { reader: -12, competitor: 19 }));
        for wrong in ["5", "-21,0", "0,20", "a,b", ""] {
            assert!(wrong.parse::<Nice>().is_err(), "{wrong}");
        }
    }
}
