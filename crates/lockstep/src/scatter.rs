//! The error of a mean over ten repetitions, or ten parts of a recording.
//!
//! Student's interval of the mean. The bootstrap's percentiles of ten values are those of a normal distribution with
//! the scatter of these ten: a fifth too narrow.

/// The number of repetitions of a job, and of parts of a recording.
pub const TENTHS: usize = 10;
/// The 97.5 % point of Student's t with nine degrees of freedom.
pub const T_OF_TENTHS: f64 = 2.262;

/// Returns half of the 95 % interval of their mean; `None` if they are not ten.
pub fn half_of_mean(values: &[f64]) -> Option<f64> {
    let count = TENTHS as f64;
    (values.len() == TENTHS).then(|| {
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        T_OF_TENTHS * (squares / (count - 1.0) / count).sqrt()
    })
}
