//! The machine on which a value was measured: the properties that a reader needs to judge it, read from the kernel.
//!
//! The readers take the root of a file tree, so that tests (and users with a copied tree
//! of another machine) can read another one. The parsers take texts.

mod activity;
mod cpu;
mod host;
mod kernel;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use activity::{Activity, ActivityShare, Load};
pub use cpu::{Cache, CacheKind, Cpu, ProbedPair, ProbedPairs};
pub use host::{Host, Limits};
pub use kernel::{Kernel, TickStop};

/// The conditions of a result other than the measured program: one part of every record.
///
/// `None` (null in a record) means "could not be read here", never "no". Names end in their unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Processor and its clock frequency.
    pub cpu: Cpu,
    /// Kernel of the operating system and its settings.
    pub kernel: Kernel,
    /// Surroundings of the kernel: memory, hypervisor, container.
    pub host: Host,
    /// Resource limits of this process.
    pub limits: Limits,
    /// Load of the machine when the environment was read.
    pub load: Load,
}

impl Environment {
    /// Reads the environment of this machine; properties that cannot be read are absent.
    ///
    /// The call takes a few milliseconds, plus one run of `gzip` if the kernel's configuration is only in
    /// `/proc/config.gz`. Call it from a thread that is not pinned yet, and before the measurement: [`Cpu::allowed`]
    /// is that of the calling thread, and [`Load`] should not include the measurement itself.
    ///
    /// # Examples
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

    /// Reads the environment from the copies of `/proc`, `/sys` and so on below another root.
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

/// Returns whether the kernel times interrupts by the clock and charges them to no thread; `None` if its
/// configuration cannot be read. The cost is that of reading the configuration, see [`Environment::probe`].
pub(crate) fn interrupt_time() -> Option<bool> {
    let root = Path::new("/");
    let release = crate::cpus::files::word(root, "proc/sys/kernel/osrelease");
    kernel::KernelConfig::read(root, release.as_deref()).interrupt_time()
}
