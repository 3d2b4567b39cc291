//! How the series of a plot look: their colours, and what they are called in the picture.

use crate::hues::{GREY, Hues};
use record::{Plot, Spikes};

/// A series in its picture.
pub struct Look {
    /// The number of its colour.
    pub colour: usize,
    /// Whether it is the paler one of two neighbours of one colour.
    pub is_pale: bool,
    pub words: String,
}

/// A colour a series.
pub fn in_turn(plot: &Plot) -> Vec<Look> {
    let look = |(colour, name): (usize, &String)| Look { colour, is_pale: false, words: name.clone() };
    plot.series.iter().map(|series| &series.name).enumerate().map(look).collect()
}

/// The colours of the locks that the series are.
pub fn of_locks(plot: &Plot, hues: &Hues) -> Vec<Look> {
    let look = |name: &String| Look { colour: hues.number(name), is_pale: false, words: name.clone() };
    plot.series.iter().map(|series| look(&series.name)).collect()
}

/// The colours of the causes that the series are.
pub fn of_causes(plot: &Plot, hues: &Hues) -> Vec<Look> {
    let look = |name: &String| Look { colour: hues.of_cause(name), is_pale: false, words: name.clone() };
    plot.series.iter().map(|series| look(&series.name)).collect()
}

/// All in the colour of the lock, neighbours told apart by how pale they are.
pub fn of_spikes(spikes: &Spikes, hues: &Hues) -> Vec<Look> {
    let colour = hues.number(&spikes.lock);
    let look = |(place, name): (usize, &String)| {
        let words = spikes.words.get(place).unwrap_or(name).clone();
        if name == "#" {
            Look { colour: GREY, is_pale: false, words }
        } else {
            Look { colour, is_pale: place % 2 == 1, words }
        }
    };
    spikes.plot.series.iter().map(|series| &series.name).enumerate().map(look).collect()
}
