//! The limit of the machine: a chase of pointers, each known only when the previous one has been loaded.
use std::{hint::black_box, time::Instant};

/// A pointer chase through slots `stride` bytes apart, in order or shuffled by the seed.
pub struct Chase {
    places: Vec<u64>,
}

impl Chase {
    /// Returns a cycle through all slots.
    pub fn new(places: usize, stride: usize, order: &[u32]) -> Self {
        let mut memory = vec![0; (places * stride).div_ceil(8) + 1];
        for (at, from) in order.iter().enumerate() {
            let to = order[(at + 1) % places] as usize * stride;
            let from = *from as usize * stride;
            // SAFETY: all slots are within the memory, which is slightly longer than all of them.
            unsafe { memory.as_mut_ptr().cast::<u8>().add(from).cast::<u32>().write_unaligned(to as u32) };
        }
        Self { places: memory }
    }

    /// Returns the nanoseconds for this number of steps.
    pub fn run(&self, steps: u32) -> f64 {
        let memory = self.places.as_ptr().cast::<u8>();
        let start = Instant::now();
        let mut at = 0;
        for _ in 0..steps {
            // SAFETY: each slot contains the offset of another one.
            at = unsafe { memory.add(at as usize).cast::<u32>().read_unaligned() };
        }
        black_box(at);
        start.elapsed().as_nanos() as f64
    }
}
