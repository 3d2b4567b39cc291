//! Powers of a polynomial and of a cumulative distribution.
//!
//! - The coefficients of a polynomial are the weights of an outcome; those of its n-th power are the weights of the
//!   sum of n independent copies.
//! - The n-th power of a cumulative distribution is the cumulative distribution of the greatest of n copies.
use num_bigint::BigUint;
use num_traits::Zero;

/// Returns the coefficients of a polynomial's `copies`-th power, each from the few before it.
///
/// With Q = P^n, the identity P·Q' = n·P'·Q gives, coefficient by coefficient:
///
/// k·p0·q_k = Σ_{i=1..d} ((n+1)·i − k)·p_i·q_{k−i}
///
/// (Euler; Knuth, *The Art of Computer Programming*, vol. 2, 4.7). This takes n·d² products of a long integer by a
/// short one, where squaring takes (n·d)² products of two long ones. It requires p0 ≠ 0 and exact division, and is
/// therefore not for `f64`.
pub(crate) fn by_recurrence(weights: &[BigUint], copies: u64) -> Vec<BigUint> {
    let degree = weights.len() - 1;
    let mut power = Vec::with_capacity(degree * copies as usize + 1);
    power.push(num_traits::Pow::pow(&weights[0], copies));
    for k in 1..=degree * copies as usize {
        let (mut added, mut taken) = (BigUint::zero(), BigUint::zero());
        for i in 1..=k.min(degree) {
            let factor = (i128::from(copies) + 1) * i as i128 - k as i128;
            let term = &weights[i] * factor.unsigned_abs() * &power[k - i];
            if factor > 0 { added += term } else { taken += term }
        }
        power.push((added - taken) / (&weights[0] * k));
    }
    power
}

/// Returns the coefficients of (a + b·x)^`copies`, each from its neighbour: n operations, where squaring needs n².
///
/// The computation begins at the greatest coefficient and proceeds outwards, so that only the negligible ends
/// underflow. The result has an arbitrary common factor.
pub(crate) fn by_ratios(a: f64, b: f64, copies: u64) -> Vec<f64> {
    let mode = (((copies + 1) as f64 * b / (a + b)) as u64).min(copies) as usize;
    let mut power = vec![0.0; copies as usize + 1];
    power[mode] = 1.0;
    let ratio = |k: usize| (copies + 1 - k as u64) as f64 / k as f64 * (b / a);
    for k in mode + 1..power.len() {
        power[k] = power[k - 1] * ratio(k);
    }
    for k in (0..mode).rev() {
        power[k] = power[k + 1] / ratio(k + 1);
    }
    power
}

/// Returns the coefficients of a polynomial's `copies`-th power, by repeated squaring; `copies` is at least 1.
pub(crate) fn by_squaring(weights: &[f64], copies: u64) -> Vec<f64> {
    let mut power = vec![1.0];
    for bit in (0..=copies.ilog2()).rev() {
        power = convolve(&power, &power);
        if copies >> bit & 1 == 1 {
            power = convolve(&power, weights);
        }
    }
    power
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (sum, y) in product[i..].iter_mut().zip(b) {
            *sum += x * y;
        }
    }
    product
}

/// Returns the weights of the greatest of `copies`: the steps of the power of the cumulative weight.
pub(crate) fn greatest_exact(weights: &[&BigUint], copies: u64) -> Vec<BigUint> {
    let (mut reached, mut before) = (BigUint::zero(), BigUint::zero());
    let step = |weight: &&BigUint| {
        reached += *weight;
        let power = num_traits::Pow::pow(&reached, copies);
        let step = &power - &before;
        before = power;
        step
    };
    weights.iter().map(step).collect()
}

/// Returns the weights of the greatest of `copies`, from the smaller of the lower and the upper tail, so that neither
/// tail loses digits.
pub(crate) fn greatest_f64(weights: &[&f64], total: f64, copies: u64) -> Vec<f64> {
    let n = copies as f64;
    let mut above = vec![0.0; weights.len() + 1];
    for (i, weight) in weights.iter().enumerate().rev() {
        above[i] = above[i + 1] + **weight;
    }
    let mut reached = 0.0;
    let step = |(i, weight): (usize, &&f64)| {
        let before = reached / total;
        reached += **weight;
        // The probability that the greatest is above this outcome, and above the previous one.
        let exceeds = |tail: f64| -(n * (-(tail / total).min(1.0)).ln_1p()).exp_m1();
        let (tail, tail_before) = (exceeds(above[i + 1]), exceeds(above[i]));
        if tail_before < 0.5 {
            tail_before - tail
        } else {
            (reached / total).min(1.0).powf(n) - before.min(1.0).powf(n)
        }
    };
    weights.iter().enumerate().map(step).collect()
}
