//! A lock in the registry.

/// A lock's name and what it is, for lists and help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Whether processes can share it.
    pub between_processes: bool,
    /// Whether it has readers.
    pub readers: bool,
}

impl Entry {
    /// Whether its waiters never sleep.
    pub fn only_spins(&self) -> bool {
        ["ticket", "mcs", "ck-fas", "ck-ticket", "ck-mcs"].contains(&self.name)
    }
}
