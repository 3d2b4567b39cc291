//! Random numbers of a child.

use instruments::grind::Work;

/// Draws for the lengths of work; Marsaglia's xorshift64*, a nanosecond a draw, of each child its own.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, child: usize) -> Self {
        // Distinct, never 0, and spread over all bits.
        Self((seed ^ (child as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1)
    }

    #[inline(always)]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Uniform between half of the mean and one and a half.
    #[inline(always)]
    fn around(&mut self, mean: u64) -> u64 {
        let fraction = self.next() >> 32;
        // In 128 bits: a mean of seconds is billions of loads.
        mean / 2 + ((u128::from(mean) * u128::from(fraction)) >> 32) as u64
    }

    #[inline(always)]
    pub fn per_cent(&mut self) -> u32 {
        (((self.next() >> 32) * 100) >> 32) as u32
    }

    #[inline(always)]
    pub fn work(&mut self, mean_loads: u64) {
        if mean_loads > 0 {
            Work::of_loads(self.around(mean_loads)).run();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_uniform_around_their_mean() {
        let mut random = Random::new(42, 3);
        let draws: Vec<u64> = (0..100_000).map(|_| random.around(10_000)).collect();
        assert!(draws.iter().all(|&loads| (5_000..15_000).contains(&loads)));
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        // Its standard error is 9.
        assert!((mean - 10_000.0).abs() < 60.0, "{mean}");
        let low = draws.iter().filter(|&&loads| loads < 7_500).count();
        assert!((24_000..26_000).contains(&low), "{low}");
    }

    #[test]
    fn per_cents_are_below_one_hundred_and_even() {
        let mut random = Random::new(7, 0);
        let below_20 = (0..100_000).filter(|_| random.per_cent() < 20).count();
        assert!((19_000..21_000).contains(&below_20), "{below_20}");
    }
}
