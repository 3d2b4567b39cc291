//! MPI as the ranks use it: whole groups, texts of any length, and waits that release the CPU.

use super::watchdog;
use lockstep::record::Collective;
use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::time::Duration;

/// Ranks that act together.
pub struct Group {
    comm: SimpleCommunicator,
    pub rank: usize,
    pub size: usize,
}

/// The polling interval of a wait that releases the CPU.
const LOOK: Duration = Duration::from_millis(2);

impl Group {
    pub fn of(comm: SimpleCommunicator) -> Self {
        let (rank, size) = (comm.rank() as usize, comm.size() as usize);
        Self { comm, rank, size }
    }

    /// Returns the group of the first `size` ranks; `None` on ranks outside it.
    ///
    /// All ranks have to call this.
    pub fn first(&self, size: usize) -> Option<Self> {
        let color = if self.rank < size { Color::with_value(0) } else { Color::undefined() };
        self.comm.split_by_color(color).map(Self::of)
    }

    /// Performs the job's collective operation after a step.
    #[inline]
    pub fn meet(&self, collective: Collective) {
        match collective {
            Collective::Barrier => self.comm.barrier(),
            Collective::Allreduce => {
                let mut sum = 0.0_f64;
                self.comm.all_reduce_into(&1.0_f64, &mut sum, SystemOperation::sum());
                std::hint::black_box(sum);
            }
        }
        watchdog::moved();
    }

    /// Waits for all ranks without using the CPU, which another program may need.
    pub fn wait_gently(&self) {
        let mut request = self.comm.immediate_barrier();
        while let Err(open) = request.test() {
            request = open;
            std::thread::sleep(LOOK);
        }
        watchdog::moved();
    }

    /// Returns the maximum of each number over all ranks.
    pub fn greatest(&self, numbers: &[f64]) -> Vec<f64> {
        self.reduced(numbers, SystemOperation::max())
    }

    /// Returns the minimum of each number over all ranks.
    pub fn least(&self, numbers: &[f64]) -> Vec<f64> {
        self.reduced(numbers, SystemOperation::min())
    }

    /// Returns the sum of each number over all ranks.
    pub fn sums(&self, numbers: &[f64]) -> Vec<f64> {
        self.reduced(numbers, SystemOperation::sum())
    }

    fn reduced(&self, numbers: &[f64], operation: SystemOperation) -> Vec<f64> {
        let mut all = vec![0.0; numbers.len()];
        self.comm.all_reduce_into(numbers, &mut all[..], operation);
        watchdog::moved();
        all
    }

    /// Broadcasts rank 0's numbers to all.
    pub fn broadcast(&self, numbers: &mut [u64]) {
        self.comm.process_at_rank(0).broadcast_into(numbers);
        watchdog::moved();
    }

    /// Returns the texts of all ranks, in their order, on each of them.
    pub fn all_texts(&self, text: &str) -> Vec<String> {
        let counts = self.counts(text);
        let (starts, total) = starts(&counts);
        let mut bytes = vec![0_u8; total];
        let mut parts = PartitionMut::new(&mut bytes[..], &counts[..], &starts[..]);
        self.comm.all_gather_varcount_into(text.as_bytes(), &mut parts);
        watchdog::moved();
        cut(&bytes, &counts)
    }

    /// Returns the texts of all ranks on rank 0, and nothing on the others.
    pub fn texts_at_first(&self, text: &str) -> Vec<String> {
        let counts = self.counts(text);
        let root = self.comm.process_at_rank(0);
        if self.rank != 0 {
            root.gather_varcount_into(text.as_bytes());
            watchdog::moved();
            return Vec::new();
        }
        let (starts, total) = starts(&counts);
        let mut bytes = vec![0_u8; total];
        let mut parts = PartitionMut::new(&mut bytes[..], &counts[..], &starts[..]);
        root.gather_varcount_into_root(text.as_bytes(), &mut parts);
        watchdog::moved();
        cut(&bytes, &counts)
    }

    fn counts(&self, text: &str) -> Vec<Count> {
        let own = Count::try_from(text.len()).expect("a text of a rank is shorter than 2 GiB");
        let mut counts = vec![0; self.size];
        self.comm.all_gather_into(&own, &mut counts[..]);
        counts
    }

    pub fn send(&self, to: usize, numbers: &[f64]) {
        self.comm.process_at_rank(to as i32).send(numbers);
    }

    pub fn receive(&self, from: usize, numbers: &mut [f64]) {
        self.comm.process_at_rank(from as i32).receive_into(numbers);
        watchdog::moved();
    }

    /// Waits for a message without using the CPU.
    pub fn wait_gently_for(&self, from: usize) {
        let process = self.comm.process_at_rank(from as i32);
        while process.immediate_probe().is_none() {
            std::thread::sleep(LOOK / 10);
        }
        watchdog::moved();
    }
}

/// Returns the begin of each part, and the length of all.
fn starts(counts: &[Count]) -> (Vec<Count>, usize) {
    let mut next = 0;
    let start = |count: &Count| {
        next += count;
        next - count
    };
    let starts = counts.iter().map(start).collect();
    (starts, next as usize)
}

fn cut(bytes: &[u8], counts: &[Count]) -> Vec<String> {
    let mut rest = bytes;
    let one = |count: &Count| {
        let (text, after) = rest.split_at(*count as usize);
        rest = after;
        String::from_utf8_lossy(text).into_owned()
    };
    counts.iter().map(one).collect()
}
