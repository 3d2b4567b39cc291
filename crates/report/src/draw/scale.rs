//! Scales from values to positions on a picture, and the values at which an axis has a mark.

/// A range of values mapped to a range of the picture.
pub struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

/// The approximate maximum number of marks on an axis.
const MARKS: f64 = 7.0;
/// The ratio of the ends of a logarithmic axis up to which every digit is marked.
const SHORT: f64 = 5.0;
/// The smallest value on a logarithmic axis: records write smaller values as zero.
const LEAST: f64 = 1e-15;
/// The largest value: beyond it not every difference is finite.
const MOST: f64 = 1e300;
/// The shortest linear axis that has steps: on a shorter one they would be 0.
const SHORTEST: f64 = 1e-300;

impl Scale {
    /// Creates a scale that contains the values; a linear one begins at zero.
    pub fn over(values: impl Iterator<Item = f64>, logarithmic: bool, from: f64, to: f64) -> Self {
        let usable = values.filter(|value| holds(*value, logarithmic));
        let (low, high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match (low <= high, logarithmic) {
            (false, true) => (1.0, 10.0),
            (false, false) => (0.0, 1.0),
            (true, true) if high / low < 2.0 => (low / 2.0, high * 2.0),
            (true, true) => (low, high),
            (true, false) if low.abs() < SHORTEST && high.abs() < SHORTEST => (0.0, 1.0),
            (true, false) => (low.min(0.0), high.max(0.0)),
        };
        Self { low, high, logarithmic, from, to }
    }

    /// Creates a linear scale that contains the values, with some room around them.
    pub fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let usable = values.filter(|value| holds(*value, false));
        let (low, high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let room = ((high - low) * 0.1).max(high.abs() * 0.05);
        if low > high || room < SHORTEST {
            return Self::over(std::iter::empty(), false, from, to);
        }
        Self { low: low - room, high: high + room, logarithmic: false, from, to }
    }

    /// Returns whether the value can be placed on it.
    pub fn holds(&self, value: f64) -> bool {
        holds(value, self.logarithmic)
    }

    /// Returns the position of a value; one outside is at the edge.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    /// Returns the position at which bars begin.
    pub fn foot(&self) -> f64 {
        if self.logarithmic { self.from } else { self.place(0.0) }
    }

    /// Returns round values between the ends.
    pub fn marks(&self) -> Vec<f64> {
        if self.logarithmic { self.decades() } else { self.steps() }
    }

    fn decades(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let digits: &[f64] = match last - first {
            // The axis is so short that it may have only one of 1, 2 and 5.
            _ if self.high / self.low <= SHORT => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            ..=3 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let stride = (f64::from(last - first) / MARKS).ceil().max(1.0) as usize;
        let values =
            (first..=last).step_by(stride).flat_map(|power| digits.iter().map(move |d| d * 10_f64.powi(power)));
        values.filter(|value| (self.low * 0.999..=self.high * 1.001).contains(value)).collect()
    }

    fn steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / MARKS;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil(), (self.high / step * 1.000_001).floor());
        (0..=(last - first) as usize).map(|index| (first + index as f64) * step).collect()
    }
}

/// Returns whether the value can be placed on an axis.
pub fn holds(value: f64, logarithmic: bool) -> bool {
    value.abs() <= MOST && (!logarithmic || value >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_placed_in_order_between_the_ends() {
        for logarithmic in [false, true] {
            let values = [3.0, 70.0, 900.0];
            let scale = Scale::over(values.into_iter(), logarithmic, 10.0, 110.0);
            let places = values.map(|value| scale.place(value));
            assert!(places.is_sorted() && places[0] >= 10.0 && places[2] == 110.0, "{places:?}");
            assert!(scale.marks().len() > 2);
        }
    }

    #[test]
    fn a_short_logarithmic_axis_has_its_ends_marked() {
        let scale = Scale::over([2.0, 4.0].into_iter(), true, 0.0, 100.0);
        assert_eq!(scale.marks(), [2.0, 3.0, 4.0]);
    }

    #[test]
    fn scale_exists_for_one_value_and_for_none() {
        let tiny = f64::from_bits(1);
        for values in
            [&[][..], &[0.0], &[5.0], &[-3.0], &[f64::MAX, 1e-300], &[f64::MAX, f64::MIN], &[tiny, -tiny], &[f64::NAN]]
        {
            for logarithmic in [false, true] {
                let scale = Scale::over(values.iter().copied(), logarithmic, 0.0, 100.0);
                assert!(scale.place(5.0).is_finite() && scale.marks().len() < 30, "{values:?}");
            }
        }
    }
}
