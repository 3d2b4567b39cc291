//! A value as it was measured: over all windows, and over those in which the core was exclusive or shared.
//!
//! Values are compared only with values of the same windows: a lock that was measured while an SMT sibling was active
//! is slower than the same lock alone. [`Basis::common`] chooses the windows for all values that are compared.

use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;

/// The windows that values are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// All of them.
    All,
    /// Those in which the core was exclusive.
    Exclusive,
}

/// A value with its 95 % interval, by windows; `None` where it was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimates {
    pub all: Option<Estimate>,
    pub exclusive: Option<Estimate>,
    pub shared: Option<Estimate>,
}

/// A value and its interval, as records have them.
type Field = (Option<f64>, Option<Interval>);

impl Basis {
    /// Returns the windows that all measured values have: those with the core exclusive, if each value has them.
    pub fn common(values: impl IntoIterator<Item = Estimates>) -> Self {
        let mut measured = values.into_iter().filter(|value| value.all.is_some()).peekable();
        let is_measured = measured.peek().is_some();
        if is_measured && measured.all(|value| value.exclusive.is_some()) { Self::Exclusive } else { Self::All }
    }
}

impl Estimates {
    pub fn new(all: Field, exclusive: Field, shared: Field) -> Self {
        let estimate = |(value, interval): Field| value.map(|value| Estimate::new(value, interval));
        Self { all: estimate(all), exclusive: estimate(exclusive), shared: estimate(shared) }
    }

    /// Returns the value that is compared with others of the same basis.
    pub fn on(&self, basis: Basis) -> Option<Estimate> {
        match basis {
            Basis::All => self.all,
            Basis::Exclusive => self.exclusive,
        }
    }

    /// Returns the value of a row by itself: with the core exclusive, where that is known.
    ///
    /// It is not comparable with others.
    pub fn single(&self) -> Option<Estimate> {
        self.exclusive.or(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(exclusive: Option<f64>) -> Estimates {
        Estimates::new((Some(2.0), None), (exclusive, None), (None, None))
    }

    #[test]
    fn values_share_the_windows_that_each_of_them_has() {
        let [one, other] = [estimates(Some(1.0)), estimates(None)];
        assert_eq!((Basis::common([one, one]), Basis::common([one, other])), (Basis::Exclusive, Basis::All));
        assert_eq!(Basis::common([one, Estimates::default()]), Basis::Exclusive, "an unmeasured value has no say");
        assert_eq!(Basis::common([]), Basis::All);
        assert_eq!((one.on(Basis::All).unwrap().value, one.single().unwrap().value), (2.0, 1.0));
        assert_eq!((other.on(Basis::Exclusive), other.single().unwrap().value), (None, 2.0));
    }
}
