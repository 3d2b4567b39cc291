//! The machine that a figure was measured on: everything that a reader needs to judge it, read from the kernel.
//!
//! Every part has its file: the readers take the root of a file tree, so that tests (and a curious reader with a copied
//! tree of another machine) can point them elsewhere; the parsers take texts.

mod activity;
mod cpu;
mod host;
mod kernel;
mod limits;
mod load;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use activity::{Activity, ActivityShare};
pub use cpu::{Cache, CacheKind, Cpu, ProbedPair, ProbedPairs};
pub use host::Host;
pub use kernel::Kernel;
pub use limits::Limits;
pub use load::Load;

/// What a result depends on besides the program: one part of every record.
///
/// `None` (null in a record) is "could not be read here", never "no". Names end in their unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// The processor and its clock frequency.
    pub cpu: Cpu,
    /// The operating system's kernel and how it is set.
    pub kernel: Kernel,
    /// The kernel's surroundings: memory, hypervisor, container.
    pub host: Host,
    /// What this process may use.
    pub limits: Limits,
    /// What else was running when the environment was read.
    pub load: Load,
}

impl Environment {
    /// Reads the environment of this machine; what cannot be read is absent.
    ///
    /// Takes a few milliseconds, plus one run of `gzip` where the kernel's configuration is only in `/proc/config.gz`.
    /// Call it from a thread that is not pinned yet, and before anything is measured: [`Cpu::allowed`] is the calling
    /// thread's and [`Load`] should not see the measurement itself.
    ///
    /// ```
    /// use instruments::environment::Environment;
    ///
    /// let environment = Environment::probe();
    /// println!("{:?} under Linux {:?}", environment.cpu.model, environment.kernel.release);
    /// ```
    pub fn probe() -> Self {
        let mut environment = Self::probe_under(Path::new("/"));
        environment.host.hypervisor = host::cpuid_hypervisor().or(environment.host.hypervisor);
        environment
    }

    /// Reads it from the copies of `/proc`, `/sys` and so on below another root.
    pub fn probe_under(root: &Path) -> Self {
        Self {
            cpu: Cpu::read(root),
            kernel: Kernel::read(root),
            host: Host::read(root),
            limits: Limits::read(root),
            load: Load::read(root),
        }
    }
}

/// Whether the kernel times interrupts by the clock and charges them to no thread; `None` where its configuration
/// cannot be read. Costs what reading the configuration costs, see [`Environment::probe`].
pub(crate) fn interrupt_time() -> Option<bool> {
    let root = Path::new("/");
    let release = crate::cpus::files::word(root, "proc/sys/kernel/osrelease");
    kernel::KernelConfig::read(root, release.as_deref()).interrupt_time()
}
