//! One colour a lock, in every picture of a page.

use record::{Picture, Section};

/// So many colours the style sheet has for locks; further ones begin again.
const COLOURS: usize = 8;

/// The locks of a page, in the order in which they got their colours.
#[derive(Default)]
pub struct Hues {
    locks: Vec<String>,
}

impl Hues {
    /// Of all locks that are drawn in these sections, and of further ones.
    pub fn of<'a>(sections: impl Iterator<Item = &'a Section>, further: impl Iterator<Item = &'a str>) -> Self {
        let mut hues = Self::default();
        further.for_each(|lock| hues.learn(lock));
        for figure in sections.flat_map(|section| &section.figures) {
            match &figure.picture {
                Picture::Locks(plot) => plot.series.iter().for_each(|series| hues.learn(&series.name)),
                Picture::Spikes(spikes) => hues.learn(&spikes.lock),
                _ => {}
            }
        }
        hues
    }

    fn learn(&mut self, lock: &str) {
        if !self.locks.iter().any(|known| known == lock) {
            self.locks.push(lock.to_owned());
        }
    }

    /// The number of a lock's colour; the first one for what is no lock.
    pub fn number(&self, lock: &str) -> usize {
        self.locks.iter().position(|known| known == lock).unwrap_or(0) % COLOURS
    }

    /// The same of a lock in a ranking: `3. std`.
    pub fn number_of_ranked(&self, name: &str) -> usize {
        self.number(name.split_once(". ").map_or(name, |(_, lock)| lock))
    }
}

/// The style sheet's class for a colour.
pub fn class(number: usize) -> String {
    format!("c{}", number % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_keeps_its_colour_and_two_have_two() {
        let hues = Hues::of(std::iter::empty(), ["std", "sysv", "std", "mcs"].into_iter());
        assert_eq!(["std", "sysv", "mcs"].map(|lock| hues.number(lock)), [0, 1, 2]);
        assert_eq!((hues.number_of_ranked("12. mcs"), hues.number("no lock")), (2, 0));
    }
}
