//! The frequencies at which events recur: the Rayleigh power spectrum.
//!
//! Convert every event's time into an angle at some frequency and add up the unit vectors. Events without rhythm
//! point everywhere, and the squared length of the sum, divided by their number, is exponential with mean 1. Events
//! with that rhythm point one way, and it is near their number (Lord Rayleigh, 1880; Mardia and Jupp, "Directional
//! Statistics").
use std::f64::consts::TAU;

/// Length in seconds of the bins into which events are counted before the transform; a tenth of the power is lost at
/// 2.5 kHz.
const BIN_S: f64 = 50e-6;

/// Longest transform: 100 s of bins, 64 MiB.
const MOST_BINS: usize = 1 << 22;

/// Distance in independent frequencies from a stronger peak within which a weaker one counts as its side lobe.
const SIDE_LOBES: f64 = 8.0;

/// Returns the frequencies of the peaks between two frequencies, strongest first, that chance would cause in at most
/// `false_alarms` of all searches.
///
/// `times` are sorted and count from the start of an observation that lasted `span`, all in seconds.
pub(crate) fn peaks(times: &[f64], span: f64, (lowest, highest): (f64, f64), false_alarms: f64) -> Vec<f64> {
    let (power, hz_per_line) = spectrum(times, span);
    let first = ((lowest / hz_per_line).ceil() as usize).max(1);
    let last = ((highest / hz_per_line) as usize).min(power.len().saturating_sub(2));
    if first >= last {
        return Vec::new();
    }
    // Events that come in bursts raise the whole spectrum above its mean of 1, whose median is ln 2. The few lines of
    // a rhythm do not move the median.
    let mut band = power[first..=last].to_vec();
    let middle = band.len() / 2;
    let noise = (*band.select_nth_unstable_by(middle, f64::total_cmp).1 / std::f64::consts::LN_2).max(1.0);
    let threshold = noise * (band.len() as f64 / false_alarms).ln();

    let mut found: Vec<usize> = (first..=last)
        .filter(|&line| power[line] > threshold && power[line] >= power[line - 1] && power[line] > power[line + 1])
        .collect();
    found.sort_by(|&a, &b| power[b].total_cmp(&power[a]));
    let mut kept: Vec<usize> = Vec::new();
    for line in found {
        if kept.iter().all(|&stronger| stronger.abs_diff(line) as f64 * hz_per_line * span > SIDE_LOBES) {
            kept.push(line);
        }
    }
    kept.iter().map(|&line| climb(times, span, line as f64 * hz_per_line, hz_per_line)).collect()
}

/// Returns the power at multiples of a frequency, and that frequency: at most half of the smallest that can be
/// resolved.
fn spectrum(times: &[f64], span: f64) -> (Vec<f64>, f64) {
    let bins = ((span / BIN_S).ceil() as usize).clamp(1, MOST_BINS / 2);
    let size = (2 * bins).next_power_of_two();
    let mut signal = vec![(0.0, 0.0); size];
    let mut events = 0.0;
    for &time in times {
        let bin = (time / BIN_S) as usize;
        if bin < bins {
            signal[bin].0 += 1.0;
            events += 1.0;
        }
    }
    // The mean is subtracted, because the observation's start and end would look like a slow rhythm.
    signal[..bins].iter_mut().for_each(|bin| bin.0 -= events / bins as f64);
    transform(&mut signal);
    let power = signal[..size / 2].iter().map(|(re, im)| (re * re + im * im) / f64::max(events, 1.0)).collect();
    (power, 1.0 / (size as f64 * BIN_S))
}

/// Returns the power at exactly one frequency.
fn power_at(times: &[f64], span: f64, hz: f64) -> f64 {
    let n = times.len() as f64;
    let (mut re, mut im) = (0.0, 0.0);
    for time in times {
        let (sin, cos) = (TAU * hz * time).sin_cos();
        re += cos;
        im += sin;
    }
    // The mean of an even flow of events, as in the transform.
    let (sin, cos) = (TAU * hz * span).sin_cos();
    re -= n * sin / (TAU * hz * span);
    im -= n * (1.0 - cos) / (TAU * hz * span);
    (re * re + im * im) / n
}

/// Returns the top of the peak within one line of `hz`, by ternary search.
fn climb(times: &[f64], span: f64, hz: f64, line: f64) -> f64 {
    let (mut low, mut high) = (hz - line, hz + line);
    for _ in 0..24 {
        let third = (high - low) / 3.0;
        if power_at(times, span, low + third) < power_at(times, span, high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    (low + high) / 2.0
}

/// Computes the discrete Fourier transform in place, by Cooley and Tukey; the length is a power of two.
fn transform(signal: &mut [(f64, f64)]) {
    let size = signal.len();
    let shift = usize::BITS - size.trailing_zeros();
    for index in 1..size {
        let mirrored = index.reverse_bits() >> shift;
        if index < mirrored {
            signal.swap(index, mirrored);
        }
    }
    let roots: Vec<(f64, f64)> = (0..size / 2)
        .map(|k| {
            let (sin, cos) = (-TAU * k as f64 / size as f64).sin_cos();
            (cos, sin)
        })
        .collect();
    let mut half = 1;
    while half < size {
        let stride = size / (2 * half);
        for pair in signal.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for ((a, b), root) in low.iter_mut().zip(high).zip(roots.iter().step_by(stride)) {
                let turned = (b.0 * root.0 - b.1 * root.1, b.0 * root.1 + b.1 * root.0);
                *b = (a.0 - turned.0, a.1 - turned.1);
                *a = (a.0 + turned.0, a.1 + turned.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{peaks, power_at};

    #[test]
    fn transform_agrees_with_the_sum() {
        let times: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.0049 + f64::from(i % 7) * 1e-4).collect();
        let (power, hz_per_line) = super::spectrum(&times, 1.0);
        let line = (204.0 / hz_per_line).round() as usize;
        let exact = power_at(&times, 1.0, line as f64 * hz_per_line);
        assert!((power[line] / exact - 1.0).abs() < 0.05, "{} {exact}", power[line]);
    }

    #[test]
    fn a_rhythm_is_a_peak() {
        let times: Vec<f64> = (0..250).map(|i| f64::from(i) * 0.004).collect();
        let found = peaks(&times, 1.0, (5.0, 400.0), 0.01);
        assert_eq!(found.len(), 1);
        assert!((found[0] - 250.0).abs() < 0.05, "{found:?}");
    }
}
