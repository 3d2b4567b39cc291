//! The reports of a child so far, by cell.

use crate::diagnosis::Diagnosis;
use harness::{LiveLine, Shown};
use record::Unit;
use std::collections::VecDeque;
use terminal::escaped;

/// All reports of a child.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    places: Vec<Place>,
    /// The index of the cell that is being measured now.
    begun: Option<usize>,
    /// The diagnosis of a traced program.
    pub diagnosis: Diagnosis,
}

/// A cell in the table of the measurement.
#[derive(Clone, Debug)]
pub struct Place {
    pub row: String,
    pub column: String,
    pub seen: Seen,
}

/// The present result of a cell.
#[derive(Clone, Debug)]
pub enum Seen {
    Nothing,
    /// The bins in ns and their hits.
    Histogram {
        median_ns: f64,
        step_ns: f64,
        bins: Vec<(f64, u64)>,
    },
    /// Shares of 0 to 1, each with the second in which its piece ended; the oldest first.
    Levels(VecDeque<(f64, f64)>),
    /// The values as they were reported, with the seconds.
    Figures {
        points: VecDeque<(f64, f64)>,
        unit: Unit,
        more_is_better: bool,
    },
}

/// A value, and whether more of it is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    pub unit: Unit,
    pub more_is_better: bool,
}

/// The maximum number of cells: a longer table is not readable.
const MOST_PLACES: usize = 2_000;
/// The maximum number of points: the bars of 1998 go back 2 to the 15th seconds.
const MOST_POINTS: usize = 33_000;

impl Feed {
    pub fn add(&mut self, line: LiveLine) {
        let LiveLine { at_s, part, row, column, shown } = line;
        let row = if part.is_empty() || row.is_empty() { row } else { format!("{part}: {row}") };
        let (row, column) = (escaped(&row).into_owned(), escaped(&column).into_owned());
        if matches!(shown, Shown::Class { .. } | Shown::Diagnosis { .. }) {
            return self.diagnosis.add(at_s, (row, column), shown);
        }
        let known = self.places.iter().position(|place| place.row == row && place.column == column);
        let place = known.unwrap_or(self.places.len());
        if place == self.places.len() {
            if place == MOST_PLACES {
                return;
            }
            self.places.push(Place { row, column, seen: Seen::Nothing });
        }
        self.begun = Some(place);
        self.places[place].seen.add(at_s, shown);
    }

    /// Returns the cells that have a result.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| !matches!(place.seen, Seen::Nothing))
    }

    /// Returns the cell that is being measured now.
    pub fn begun(&self) -> Option<&Place> {
        self.places.get(self.begun?)
    }

    /// Returns the place of a cell's value among the comparable ones of its column, 0 for the best, and their number.
    ///
    /// It is the order of the values so far, for a colour. Which ones are shown to be better, the ranking of the record says.
    pub fn order(&self, place: &Place) -> Option<(usize, usize)> {
        let current = place.seen.figure()?;
        let peers = self.places().filter(|other| other.column == place.column);
        let others: Vec<f64> = peers
            .filter_map(|other| other.seen.figure())
            .filter(|other| other.unit == current.unit)
            .map(|other| other.value)
            .collect();
        Some((order(current, &others), others.len()))
    }

    /// Returns one value for all: the mean of levels, otherwise the best of the values, and the row that has it.
    pub fn best(&self) -> Option<(Figure, String)> {
        let levels: Vec<f64> = self
            .places()
            .filter(|place| matches!(place.seen, Seen::Levels(_)))
            .filter_map(|place| Some(place.seen.figure()?.value))
            .collect();
        if !levels.is_empty() {
            let mean = levels.iter().sum::<f64>() / levels.len() as f64;
            return Some((Figure { value: mean, unit: Unit::Share, more_is_better: false }, "the mean".to_owned()));
        }
        let all = self.places().filter_map(|place| Some((place.seen.figure()?, place.row.clone())));
        all.reduce(|best, other| if is_better(other.0, best.0.value) { other } else { best })
    }
}

/// Returns how many of the others are better.
pub fn order(current: Figure, others: &[f64]) -> usize {
    others.iter().filter(|&&other| is_better(Figure { value: other, ..current }, current.value)).count()
}

fn is_better(figure: Figure, than: f64) -> bool {
    if figure.more_is_better { figure.value > than } else { figure.value < than }
}

impl Seen {
    fn add(&mut self, at_s: f64, shown: Shown) {
        match shown {
            Shown::Begun(()) | Shown::Class { .. } | Shown::Diagnosis { .. } => {}
            Shown::Histogram { median_ns, step_ns, bins } => *self = Self::Histogram { median_ns, step_ns, bins },
            Shown::Level(share) => {
                if !matches!(self, Self::Levels(_)) {
                    *self = Self::Levels(VecDeque::new());
                }
                if let Self::Levels(levels) = self {
                    push(levels, (at_s, share.clamp(0.0, 1.0)));
                }
            }
            Shown::Figure { value, unit, more_is_better } => {
                if !matches!(self, Self::Figures { .. }) {
                    *self = Self::Figures { points: VecDeque::new(), unit, more_is_better };
                }
                if let Self::Figures { points, .. } = self {
                    push(points, (at_s, value));
                }
            }
        }
    }

    /// Returns the result as one value: the median of a histogram, the mean of levels, the last of several values.
    pub fn figure(&self) -> Option<Figure> {
        match self {
            Self::Nothing => None,
            Self::Histogram { median_ns, .. } => {
                Some(Figure { value: *median_ns, unit: Unit::Ns, more_is_better: false })
            }
            Self::Levels(levels) => {
                let sum: f64 = levels.iter().map(|(_, share)| share).sum();
                (!levels.is_empty()).then(|| Figure {
                    value: sum / levels.len() as f64,
                    unit: Unit::Share,
                    more_is_better: false,
                })
            }
            Self::Figures { points, unit, more_is_better } => {
                Some(Figure { value: points.back()?.1, unit: *unit, more_is_better: *more_is_better })
            }
        }
    }
}

/// Appends a point, and removes the oldest if the list is full.
fn push(points: &mut VecDeque<(f64, f64)>, point: (f64, f64)) {
    if point.0.is_finite() && point.1.is_finite() {
        points.push_back(point);
    }
    if points.len() > MOST_POINTS {
        points.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(row: &str, column: &str, shown: Shown) -> LiveLine {
        LiveLine { at_s: 1.0, part: String::new(), row: row.into(), column: column.into(), shown }
    }

    #[test]
    fn places_are_in_order_within_their_column() {
        let mut feed = Feed::default();
        for (row, median) in [("slow", 90.0), ("fast", 20.0), ("middling", 40.0)] {
            feed.add(line(
                row,
                "1 thread",
                Shown::Histogram { median_ns: median, step_ns: 1.0, bins: vec![(median, 10), (1e6, 2)] },
            ));
            feed.add(line(row, "2 threads", Shown::Begun(())));
        }
        let orders: Vec<_> = feed.places().map(|place| (place.row.as_str(), feed.order(place).unwrap())).collect();
        assert_eq!(orders, [("slow", (2, 3)), ("fast", (0, 3)), ("middling", (1, 3))]);
        assert_eq!(feed.best().unwrap().1, "fast");
    }

    #[test]
    fn foreign_names_have_no_control_characters() {
        let mut feed = Feed::default();
        feed.add(line("\x1b[2Jx", "", Shown::Level(0.5)));
        assert!(feed.places().all(|place| !place.row.contains('\x1b')));
    }

    #[test]
    fn long_run_uses_no_more_memory() {
        let mut feed = Feed::default();
        (0..40_000).for_each(|_| feed.add(line("a", "", Shown::Level(0.5))));
        (0..3_000).for_each(|place| feed.add(line(&place.to_string(), "", Shown::Level(0.5))));
        assert_eq!(feed.places.len(), MOST_PLACES);
        assert!(feed.places().all(|place| matches!(&place.seen, Seen::Levels(levels) if levels.len() <= MOST_POINTS)));
    }
}
