//! The horizontal axis: columns, the values in them, and the labels under some.

/// From a latency to a column and back.
#[derive(Clone, Copy)]
pub struct Axis {
    pub step_ns: f64,
    pub columns_an_octave: f64,
}

impl Axis {
    /// Where the exponential part begins: a column there is as wide as a step.
    fn bend(self) -> f64 {
        self.step_ns / ((1.0 / self.columns_an_octave).exp2() - 1.0)
    }

    pub fn column(self, ns: f64) -> usize {
        let bend = self.bend();
        if ns < bend {
            (ns.max(0.0) / self.step_ns).round() as usize
        } else {
            (bend / self.step_ns + self.columns_an_octave * (ns / bend).log2()).round() as usize
        }
    }

    pub fn ns(self, column: usize) -> f64 {
        let bend = self.bend();
        let linear = bend / self.step_ns;
        let column = column as f64;
        if column < linear { column * self.step_ns } else { bend * ((column - linear) / self.columns_an_octave).exp2() }
    }
}

/// 1, 2 or 5 times a power of ten, if one falls into the column.
pub fn round_value_in(axis: Axis, column: usize) -> Option<f64> {
    if column == 0 {
        return Some(0.0);
    }
    let decade = axis.ns(column).max(0.1).log10().floor() as i32;
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * 10_f64.powi(decade))
        .into_iter()
        .find(|&value| axis.column(value) == column)
}

pub fn axis_label(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "µs"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = if value >= 10.0 || value.fract() < 0.05 { 0 } else { 1 };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_goes_there_and_back() {
        for columns_an_octave in [1.0, 4.0, 16.0] {
            let axis = Axis { step_ns: 10.0, columns_an_octave };
            for column in 0..60 {
                assert_eq!(axis.column(axis.ns(column)), column);
            }
        }
    }
}
