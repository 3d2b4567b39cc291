//! The colours of locks and causes, the same in every picture of a page.

use record::{OTHERS, Picture, Plot, Section, Stack};

/// The number of colours that the style sheet has for locks; further locks reuse them.
const COLOURS: usize = 8;

/// The grey colour, for series without a colour.
pub const GREY: usize = COLOURS - 1;

/// The locks and the causes of a page, in the order in which they got their colours.
#[derive(Default)]
pub struct Hues {
    locks: Vec<String>,
    causes: Vec<String>,
}

impl Hues {
    /// Gives colours to all locks and causes that are drawn in these sections, and to further locks.
    ///
    /// The largest causes come first, since there are fewer colours than causes.
    pub fn of<'a>(sections: impl Iterator<Item = &'a Section>, further: impl Iterator<Item = &'a str>) -> Self {
        let mut hues = Self::default();
        further.for_each(|lock| learn(&mut hues.locks, lock));
        let (mut stacks, mut scattered): (Vec<&Stack>, Vec<&Plot>) = (Vec::new(), Vec::new());
        for figure in sections.flat_map(|section| &section.figures) {
            match &figure.picture {
                Picture::Locks(plot) => plot.series.iter().for_each(|series| learn(&mut hues.locks, &series.name)),
                Picture::Spikes(spikes) => learn(&mut hues.locks, &spikes.lock),
                Picture::Stacks(some) => stacks.extend(some),
                Picture::Causes(plot) => scattered.push(plot),
                _ => {}
            }
        }
        let mut parts: Vec<_> = stacks.iter().flat_map(|stack| &stack.parts).collect();
        parts.sort_by(|one, other| other.share.total_cmp(&one.share));
        parts.into_iter().for_each(|part| learn(&mut hues.causes, &part.cause));
        let series = scattered.into_iter().flat_map(|plot| &plot.series).filter(|series| series.name != OTHERS);
        series.for_each(|series| learn(&mut hues.causes, &series.name));
        hues
    }

    /// Returns the number of a cause's colour: grey for several causes together, and where all colours are used.
    pub fn of_cause(&self, cause: &str) -> usize {
        self.causes.iter().position(|known| known == cause).map_or(GREY, |place| place.min(GREY))
    }

    /// Returns the number of a lock's colour; the first one for anything else.
    pub fn number(&self, lock: &str) -> usize {
        self.locks.iter().position(|known| known == lock).unwrap_or(0) % COLOURS
    }

    /// Returns the number of the colour of a lock in a ranking: `3. std`.
    pub fn number_of_ranked(&self, name: &str) -> usize {
        self.number(name.split_once(". ").map_or(name, |(_, lock)| lock))
    }
}

fn learn(known: &mut Vec<String>, name: &str) {
    if !known.iter().any(|one| one == name) {
        known.push(name.to_owned());
    }
}

/// Returns the style sheet's class for a colour.
pub fn class(number: usize) -> String {
    format!("c{}", number % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_keeps_its_colour_and_two_locks_differ() {
        let hues = Hues::of(std::iter::empty(), ["std", "sysv", "std", "mcs"].into_iter());
        assert_eq!(["std", "sysv", "mcs"].map(|lock| hues.number(lock)), [0, 1, 2]);
        assert_eq!((hues.number_of_ranked("12. mcs"), hues.number("no lock")), (2, 0));
    }
}
