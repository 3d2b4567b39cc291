//! The colours of locks, the same on every page, and of causes, the same in every picture of a page.

use record::{OTHERS, Picture, Plot, Section, Stack};

/// The colours of the page and of pictures in separate files, on light and on dark paper.
const PALETTE: [(&str, &str); COLOURS] = [
    ("#0b5fad", "#6cb2f5"),
    ("#b3400e", "#f39a6b"),
    ("#1a7a3c", "#6fcf8e"),
    ("#8a2f8f", "#d796dc"),
    ("#7a5c00", "#e0c057"),
    ("#00707a", "#5fd0da"),
    ("#b01030", "#ff8598"),
    ("#7b4a2d", "#d3a27f"),
    ("#b0187f", "#ff8fd0"),
    ("#4b3fc4", "#a9a2ff"),
    ("#4d6b00", "#b3d15a"),
    ("#555555", "#bbbbbb"),
];
pub const COLOURS: usize = 12;

/// The colours of causes by the beginning of their labels, on every page; the first match counts.
///
/// A further cause, and one whose colour another cause of the page has, gets a free colour.
const CAUSES: [(&str, usize); 9] = [
    ("interrupt local_timer", 0),
    ("unexplained", 1),
    ("softirq", 2),
    ("SMT", 3),
    ("task", 4),
    ("interrupt", 5),
    ("hypervisor", 6),
    ("steal", 6),
    ("waited", 3),
];

/// The grey colour, for series without a colour.
pub const GREY: usize = COLOURS - 1;

/// The start of the hash of a lock's name, chosen so that the locks of a survey have different colours, and so have those
/// that `contend throughput` measures by default.
const SEED: u32 = 1345;

/// Returns the number of a lock's colour, which depends on nothing but its name; grey is not among them.
///
/// The hash is FNV-1a.
fn of_lock(name: &str) -> usize {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32 ^ SEED, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize % GREY
}

/// The locks of a page, and its causes in the order in which they got their colours.
#[derive(Default)]
pub struct Hues {
    locks: Vec<String>,
    /// Whether they are other names than those of locks, which have colours by their order.
    is_in_order: bool,
    /// The causes with their colours.
    causes: Vec<(String, usize)>,
}

impl Hues {
    /// Collects all locks that are drawn in these sections, and further ones, and gives colours to the causes.
    ///
    /// The largest causes come first, since there are fewer colours than causes.
    pub fn of<'a>(sections: impl Iterator<Item = &'a Section>, further: impl Iterator<Item = &'a str>) -> Self {
        let mut hues = Self::default();
        further.for_each(|lock| learn(&mut hues.locks, lock));
        let (mut stacks, mut scattered): (Vec<&Stack>, Vec<&Plot>) = (Vec::new(), Vec::new());
        for figure in sections.flat_map(|section| &section.figures) {
            match &figure.picture {
                Picture::Locks(plot) => {
                    plot.series.iter().for_each(|series| learn(&mut hues.locks, without_year(&series.name)))
                }
                Picture::Spikes(spikes) => learn(&mut hues.locks, &spikes.lock),
                Picture::Flame(flame) => flame.parts.iter().for_each(|part| learn(&mut hues.locks, &part.name)),
                Picture::Bars(bars) => {
                    bars.bars.iter().filter_map(|bar| ranked(&bar.name)).for_each(|lock| learn(&mut hues.locks, lock))
                }
                Picture::Stacks(some) => stacks.extend(some),
                Picture::Causes(plot) => scattered.push(plot),
                _ => {}
            }
        }
        let mut parts: Vec<_> = stacks.iter().flat_map(|stack| &stack.parts).collect();
        parts.sort_by(|one, other| other.share.total_cmp(&one.share));
        let series = scattered.into_iter().flat_map(|plot| &plot.series).filter(|series| series.name != OTHERS);
        let mut causes = Vec::new();
        parts.into_iter().for_each(|part| learn(&mut causes, &part.cause));
        series.for_each(|series| learn(&mut causes, &series.name));
        hues.give(causes);
        hues
    }

    /// Gives colours to names that are not of locks, in this order.
    pub fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self { is_in_order: true, ..Self::of(std::iter::empty(), names) }
    }

    /// Gives the causes the colours of the table, then free colours.
    fn give(&mut self, causes: Vec<String>) {
        let mut is_used = [false; GREY];
        let mut left = Vec::new();
        for cause in causes {
            let wanted = CAUSES.iter().find(|(begin, _)| cause.starts_with(begin)).map(|(_, colour)| *colour);
            match wanted.filter(|colour| !is_used[*colour]) {
                Some(colour) => {
                    is_used[colour] = true;
                    self.causes.push((cause, colour));
                }
                None => left.push(cause),
            }
        }
        for cause in left {
            let free = is_used.iter().position(|is_used| !is_used).unwrap_or(GREY);
            is_used.get_mut(free).into_iter().for_each(|used| *used = true);
            self.causes.push((cause, free));
        }
    }

    /// Returns the number of a cause's colour: grey for several causes together, and where all colours are used.
    pub fn of_cause(&self, cause: &str) -> usize {
        self.causes.iter().find(|(known, _)| known == cause).map_or(GREY, |(_, colour)| *colour)
    }

    /// Returns the number of a lock's colour; the first one for anything else.
    pub fn number(&self, lock: &str) -> usize {
        let name = without_year(lock);
        match self.locks.iter().position(|known| known == name) {
            Some(place) if self.is_in_order => place % GREY,
            Some(_) => of_lock(name),
            None => 0,
        }
    }

    /// Returns the number of the colour of a lock in a ranking: `3. std`.
    pub fn number_of_ranked(&self, name: &str) -> usize {
        self.number(ranked(name).unwrap_or(name))
    }
}

/// Returns the lock of a bar in a ranking: `3. std`, or `–. std` without a rank; `None` for other names.
fn ranked(name: &str) -> Option<&str> {
    let (rank, lock) = name.split_once(". ")?;
    (rank == "–" || rank.bytes().all(|letter| letter.is_ascii_digit())).then_some(lock)
}

/// Returns the lock of a series that has the values of an old document: `sysv, 2002`.
fn without_year(name: &str) -> &str {
    name.rsplit_once(", ").filter(|(_, year)| is_year(year)).map_or(name, |(lock, _)| lock)
}

/// Returns whether a series has the values of an old document.
pub fn is_old(name: &str) -> bool {
    without_year(name) != name
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && text.bytes().all(|letter| letter.is_ascii_digit())
}

fn learn(known: &mut Vec<String>, name: &str) {
    if !known.iter().any(|one| one == name) {
        known.push(name.to_owned());
    }
}

/// Returns the style of the colours on a page: light, dark, and light again on paper.
pub fn page_style() -> String {
    let of = |colour: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        PALETTE.iter().enumerate().map(|(number, pair)| format!("--c{number}:{};", colour(pair))).collect()
    };
    let (light, dark) = (of(|pair| pair.0), of(|pair| pair.1));
    format!(
        ":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n@media print{{:root{{{light}}}}}\n{}",
        classes(|number, _| format!("var(--c{number})"))
    )
}

/// Returns the style of the colours in a separate picture.
pub fn picture_style() -> String {
    let (light, dark) = (classes(|_, pair| pair.0.to_owned()), classes(|_, pair| pair.1.to_owned()));
    format!("{light}@media (prefers-color-scheme: dark) {{ {dark}}}\n")
}

fn classes(colour: impl Fn(usize, &(&str, &str)) -> String) -> String {
    let class = |(number, pair)| format!(".c{number} {{ color: {}; }}\n", colour(number, pair));
    PALETTE.iter().enumerate().map(class).collect()
}

/// Returns the style sheet's class for a colour.
pub fn class(number: usize) -> String {
    format!("c{}", number % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_the_colour_of_the_table_and_two_causes_differ() {
        let hues = |causes: &[&str]| {
            let mut hues = Hues::default();
            hues.give(causes.iter().map(|cause| (*cause).to_owned()).collect());
            move |cause: &str| hues.of_cause(cause)
        };
        let one = hues(&["task kworker", "task competitor", "unexplained", "interrupt local_timer"]);
        let other = hues(&["unexplained", "interrupt local_timer"]);
        for cause in ["unexplained", "interrupt local_timer"] {
            assert_eq!(one(cause), other(cause), "{cause}");
        }
        assert!(one("task kworker") != one("task competitor") && one("task competitor") != one("unexplained"));
    }

    #[test]
    fn lock_has_one_colour_on_all_pages_and_usual_locks_differ() {
        let (one, other) = (["std", "sysv", "mcs"], ["mcs", "std"]);
        let hues = |locks: &[&'static str]| Hues::of(std::iter::empty(), locks.iter().copied());
        assert_eq!(hues(&one).number("std"), hues(&other).number("std"));
        assert_eq!(hues(&one).number_of_ranked("12. mcs"), hues(&other).number("mcs"));
        assert_eq!(hues(&one).number("no lock"), 0);
        let throughput = [
            "sysv",
            "usema",
            "usema-spin",
            "calock",
            "calock-spin",
            "adaptive",
            "pthread",
            "pthread-shared",
            "std",
            "parking_lot",
        ];
        for usual in [&throughput[..], &["sysv", "benaphore", "std", "usema", "pthread", "adaptive"]] {
            let mut colours: Vec<usize> = usual.iter().map(|lock| of_lock(lock)).collect();
            colours.sort_unstable();
            colours.dedup();
            assert_eq!(colours.len(), usual.len(), "{usual:?}: {colours:?}");
            assert!(!colours.contains(&GREY));
        }
    }
}
