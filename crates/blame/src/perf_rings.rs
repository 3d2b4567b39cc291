//! The kernel's rings of perf events, one for each CPU, and the events that write into them.

use crate::memory::u64_at;
use perf_event::{Builder, Counter, Sampler};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;

/// The most memory of a ring of samples, and the least that is of use.
pub const LARGEST: usize = 4 << 20;
const SMALLEST: usize = 64 << 10;
/// The most memory of all rings together, which the kernel cannot swap out.
const LARGEST_OF_ALL: usize = 256 << 20;

const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// `_IO('$', 5)`, the same on all processors that number their calls in the common way.
const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;

/// Opens a ring that is as large as the kernel grants, within these sizes in bytes.
///
/// # Errors
/// The kernel refuses it.
pub fn ring(sizes: RangeInclusive<usize>, builder: impl Fn() -> Builder<'static>) -> io::Result<Sampler> {
    let (smallest, mut bytes) = sizes.into_inner();
    // It ends: the size is halved down to the smallest.
    loop {
        match builder().build()?.sampled(bytes) {
            Ok(ring) => return Ok(ring),
            Err(error) if bytes <= smallest => return Err(error),
            Err(_) => bytes /= 2,
        }
    }
}

/// Returns the most memory of each of several rings, which is at most `largest`.
pub fn share(largest: usize, rings: usize) -> usize {
    1 << (LARGEST_OF_ALL / rings.max(1)).clamp(SMALLEST, largest).ilog2()
}

/// Lets an event write into the ring of another.
///
/// # Errors
/// The kernel refuses it.
pub fn redirect(event: &Counter, ring: &Sampler) -> io::Result<()> {
    // SAFETY: both are open perf events of one CPU, and the call takes no pointer.
    let redirected =
        unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_SET_OUTPUT, ring.as_counter().as_raw_fd()) };
    if redirected == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Rings of samples, one for each CPU.
pub struct SampleRings<T> {
    rings: Vec<Sampler>,
    /// Read, but perhaps before earlier ones: another ring was read later.
    early: Vec<T>,
    /// Events that did not fit into a ring.
    pub lost: u64,
}

impl<T> SampleRings<T> {
    /// Opens the rings, whose own events `builder` describes.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open(cpus: &[usize], builder: impl Fn(usize) -> Builder<'static>) -> io::Result<Self> {
        let sizes = SMALLEST..=share(LARGEST, cpus.len());
        let rings = cpus.iter().map(|cpu| ring(sizes.clone(), || builder(*cpu))).collect::<io::Result<_>>()?;
        Ok(Self { rings, early: Vec::new(), lost: 0 })
    }

    /// Returns the rings, in the order of their CPUs.
    pub fn rings(&self) -> &[Sampler] {
        &self.rings
    }

    /// Returns the samples until `now`, in the order of their times; a sample that `parse` rejects is dropped.
    pub fn drain(&mut self, now: u64, parse: impl Fn(&[u8]) -> Option<T>, at_ns: impl Fn(&T) -> u64) -> Vec<T> {
        let mut samples = std::mem::take(&mut self.early);
        for ring in &mut self.rings {
            // As much as it holds: a thread that writes as fast as this loop reads must not keep it here.
            let mut bytes = 0;
            while bytes < LARGEST {
                let Some(record) = ring.next_record() else { break };
                let body = record.to_contiguous();
                bytes += body.len();
                match record.ty() {
                    SAMPLE => samples.extend(parse(&body)),
                    LOST => self.lost += u64_at(&body, 8).unwrap_or(0),
                    _ => {}
                }
            }
        }
        samples.sort_by_key(&at_ns);
        let upto = samples.partition_point(|sample| at_ns(sample) <= now);
        self.early = samples.split_off(upto);
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_of_many_cpus_share_a_limit() {
        assert_eq!([1, 2, 64].map(|cpus| share(LARGEST, cpus)), [LARGEST; 3]);
        for cpus in [65, 96, 256, 1_000, 4_096] {
            let each = share(LARGEST, cpus);
            assert!(each.is_power_of_two() && each * cpus <= LARGEST_OF_ALL, "{cpus}: {each}");
        }
    }
}
