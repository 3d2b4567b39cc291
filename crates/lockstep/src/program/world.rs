//! The ranks of a job together: MPI as they use it (whole groups, texts of any length, waits that release the CPU), the
//! CPU of each, the offsets of their clocks, and the protection against endless waits.

use anyhow::Context;
use harness::{Interruption, output};
use instruments::clock::{Calibration, Clock};
use instruments::cpus;
use instruments::grind::Grind;
use lockstep::alignment::{Exchange, Meeting};
use lockstep::greeting::{Allowed, assigned};
use lockstep::record::Collective;
use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::sync::atomic::{AtomicU64, Ordering};
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
        moved();
    }

    /// Waits for all ranks without using the CPU, which another program may need.
    pub fn wait_gently(&self) {
        let mut request = self.comm.immediate_barrier();
        while let Err(open) = request.test() {
            request = open;
            std::thread::sleep(LOOK);
        }
        moved();
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
        moved();
        all
    }

    /// Broadcasts rank 0's numbers to all.
    pub fn broadcast(&self, numbers: &mut [u64]) {
        self.comm.process_at_rank(0).broadcast_into(numbers);
        moved();
    }

    /// Returns the texts of all ranks, in their order, on each of them.
    pub fn all_texts(&self, text: &str) -> Vec<String> {
        let counts = self.counts(text);
        let (starts, total) = starts(&counts);
        let mut bytes = vec![0_u8; total];
        let mut parts = PartitionMut::new(&mut bytes[..], &counts[..], &starts[..]);
        self.comm.all_gather_varcount_into(text.as_bytes(), &mut parts);
        moved();
        cut(&bytes, &counts)
    }

    /// Returns the texts of all ranks on rank 0, and nothing on the others.
    pub fn texts_at_first(&self, text: &str) -> Vec<String> {
        let counts = self.counts(text);
        let root = self.comm.process_at_rank(0);
        if self.rank != 0 {
            root.gather_varcount_into(text.as_bytes());
            moved();
            return Vec::new();
        }
        let (starts, total) = starts(&counts);
        let mut bytes = vec![0_u8; total];
        let mut parts = PartitionMut::new(&mut bytes[..], &counts[..], &starts[..]);
        root.gather_varcount_into_root(text.as_bytes(), &mut parts);
        moved();
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
        moved();
    }

    /// Waits for a message without using the CPU.
    pub fn wait_gently_for(&self, from: usize) {
        let process = self.comm.process_at_rank(from as i32);
        while process.immediate_probe().is_none() {
            std::thread::sleep(LOOK / 10);
        }
        moved();
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

/// The placement of each rank on its CPU, with calibrated instruments.
pub struct Place {
    pub host: String,
    pub cpu: usize,
    /// The host and the CPU of each rank.
    all: Vec<(String, usize)>,
}

const CLOCK_SPAN: Duration = Duration::from_millis(200);

impl Place {
    /// Chooses a CPU for each rank, and pins this one to its own.
    pub fn take(world: &Group) -> anyhow::Result<Self> {
        let host = mpi::environment::processor_name().unwrap_or_else(|_| "unknown".into());
        let allowed: Vec<usize> = cpus::allowed()?.iter().collect();
        let descriptions: Vec<(String, Vec<usize>)> = world
            .all_texts(&serde_json::to_string(&(&host, &allowed))?)
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<Result<_, _>>()?;
        let ranks: Vec<Allowed> = descriptions.into_iter().map(|(host, cpus)| Allowed { host, cpus }).collect();
        let chosen: Option<Vec<usize>> = assigned(&ranks).into_iter().collect();
        let chosen = chosen.context("the affinity mask of this rank is empty")?;
        let all: Vec<(String, usize)> = ranks.into_iter().map(|rank| rank.host).zip(chosen).collect();
        let cpu = all[world.rank].1;
        cpus::pin_current_thread(cpu).with_context(|| format!("rank {}: CPU {cpu}", world.rank))?;
        Ok(Self { host, cpu, all })
    }

    /// Returns the number of ranks on this one's CPU.
    pub fn ranks_on_cpu(&self, rank: usize) -> usize {
        self.all.iter().filter(|one| **one == self.all[rank]).count()
    }

    /// Returns the maximum number of the first `ranks` that share a CPU.
    pub fn crowd(&self, ranks: usize) -> usize {
        let first = &self.all[..ranks];
        first.iter().map(|one| first.iter().filter(|other| *other == one).count()).max().unwrap_or(1)
    }

    /// Returns the number of CPUs of all machines that have a rank.
    pub fn cpus(&self) -> usize {
        let mut all = self.all.clone();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// Returns the machines, in the order of the first rank of each.
    pub fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = Vec::new();
        for (host, _) in &self.all {
            if !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    /// Returns the first rank on this one's CPU.
    fn owner(&self, rank: usize) -> usize {
        self.all.iter().position(|one| *one == self.all[rank]).unwrap_or(rank)
    }

    /// Calibrates the instruments.
    ///
    /// Each rank has its own clock; the busy loop belongs to the CPU: the first rank there calibrates it, while the
    /// others sleep.
    pub fn calibrate(&self, world: &Group) -> anyhow::Result<(Calibration, Grind)> {
        let clock = Clock::calibrate(CLOCK_SPAN);
        world.wait_gently();
        let owner = self.owner(world.rank);
        let own = (owner == world.rank).then(|| Grind::calibrate(clock.clock, || false));
        world.wait_gently();
        let descriptions = own.map(|grind| (grind.ns_per_load, grind.overhead_ns));
        let descriptions = world.all_texts(&serde_json::to_string(&descriptions)?);
        let found: Option<(f64, f64)> = serde_json::from_str(&descriptions[owner])?;
        let (ns_per_load, overhead_ns) = found.context("the first rank of a CPU calibrates it")?;
        Ok((clock, Grind { ns_per_load, overhead_ns, cycles_per_load: None, search: Vec::new() }))
    }
}

// The offset of every rank's clock from rank 0's.

/// A rank's own time: its clock from a moment on, in nanoseconds.
#[derive(Clone, Copy)]
pub struct OwnTime {
    clock: Clock,
    origin: u64,
}

const EXCHANGES: usize = 100;
/// The maximum length of a meeting, however slow the network is.
const LONGEST_NS: f64 = 50e6;
/// The minimum number of exchanges: enough that one of them was not interrupted.
const FEWEST: usize = 5;

impl OwnTime {
    pub fn from_now(clock: Clock) -> Self {
        Self { clock, origin: clock.stamp() }
    }

    pub fn now_ns(&self) -> f64 {
        self.at_ns(self.clock.stamp())
    }

    pub fn at_ns(&self, ticks: u64) -> f64 {
        self.clock.to_ns(ticks.saturating_sub(self.origin))
    }
}

/// Lets all ranks meet rank 0, one after the other; each receives the result for its own clock.
pub fn meet(world: &Group, time: OwnTime) -> Meeting {
    let found = if world.rank == 0 {
        (1..world.size).for_each(|rank| ask(world, time, rank));
        Meeting::own(time.now_ns())
    } else {
        answer(world, time)
    };
    world.wait_gently();
    found
}

fn ask(world: &Group, time: OwnTime, rank: usize) {
    let (mut exchanges, began_ns) = (Vec::with_capacity(EXCHANGES), time.now_ns());
    while exchanges.len() < FEWEST || (exchanges.len() < EXCHANGES && time.now_ns() - began_ns < LONGEST_NS) {
        let (mut other_clock, asked_ns) = ([0.0], time.now_ns());
        world.send(rank, &[asked_ns, 0.0, 0.0, 1.0]);
        world.receive(rank, &mut other_clock);
        exchanges.push(Exchange { asked_ns, there_ns: other_clock[0], answered_ns: time.now_ns() });
    }
    let found = Meeting::of(&exchanges).expect("there are some");
    world.send(rank, &[found.there_ns, found.offset_ns, found.error_ns, 0.0]);
}

fn answer(world: &Group, time: OwnTime) -> Meeting {
    world.wait_gently_for(0);
    loop {
        let mut received = [0.0; 4];
        world.receive(0, &mut received);
        let [there_ns, offset_ns, error_ns, asks] = received;
        if asks == 0.0 {
            return Meeting { there_ns, offset_ns, error_ns };
        }
        world.send(0, &[time.now_ns()]);
    }
}

// Protection against endless waits: a rank that receives nothing from the others for too long reports it and ends.
//
// A launcher ends a job of which a rank dies, if it tracks its job. Not all do, and none ends one whose rank hangs. An
// MPI call that waits for such a rank can only be left by ending the process. The watchdog sleeps: it costs a wake-up
// a second.

/// The number of MPI calls that returned.
static MOVED: AtomicU64 = AtomicU64::new(0);

const WATCHDOG_LOOK: Duration = Duration::from_secs(1);
/// The exit status with which a shell reports a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Notes that another rank was heard from.
///
/// Only the rank's own thread calls this.
#[inline]
pub fn moved() {
    MOVED.store(MOVED.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Watches this rank until its process ends.
pub fn watch(rank: usize, patience: Duration, interruption: Interruption) -> std::io::Result<()> {
    std::thread::Builder::new().name("watchdog".into()).spawn(move || guard(rank, patience, &interruption))?;
    Ok(())
}

fn guard(rank: usize, patience: Duration, interruption: &Interruption) {
    let (mut seen, mut waited) = (MOVED.load(Ordering::Relaxed), Duration::ZERO);
    loop {
        std::thread::sleep(WATCHDOG_LOOK);
        if interruption.is_requested() {
            give_up(&format!("rank {rank}: ended by a signal; nothing was written"), INTERRUPTED);
        }
        let now = MOVED.load(Ordering::Relaxed);
        waited = if now == seen { waited + WATCHDOG_LOOK } else { Duration::ZERO };
        seen = now;
        if waited >= patience {
            give_up(
                &format!("rank {rank}: no message from the other ranks for {patience:?}: one of them died or hangs"),
                1,
            );
        }
    }
}

/// Ends the process without MPI's finalisation, which waits for the others too.
pub fn give_up(text: &str, status: i32) -> ! {
    output::eprint_line(&format!("error: {text}"));
    // SAFETY: `_exit` takes any status, reads no memory of the process and does not return.
    unsafe { libc::_exit(status) }
}
