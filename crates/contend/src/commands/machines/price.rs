//! The price of a machine, as it is written on the command line.

use std::str::FromStr;

/// The price of a machine per hour.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub machine: String,
    pub per_h: f64,
}

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let price = text.rsplit_once('=').and_then(|(machine, price)| {
            let per_h = price.parse().ok().filter(|price: &f64| price.is_finite() && *price > 0.0)?;
            (!machine.is_empty()).then(|| Self { machine: machine.to_owned(), per_h })
        });
        price.ok_or_else(|| "not a machine and a price above 0, such as m7g=0.12".to_owned())
    }
}
