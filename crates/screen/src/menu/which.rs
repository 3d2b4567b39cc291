//! Which menus there are.

/// A menu: those of the row, and those that open from an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Menu {
    Measure,
    Matrix,
    Locks,
    Threads,
    Cpus,
    Time,
    Archive,
    Run,
    Help,
    /// The calls that an experiment, by its name, suggests.
    Examples(&'static str),
    /// What can be done with a record, by its name.
    Record(String),
}

impl Menu {
    /// The row; what there is nothing to do with is not in it.
    pub fn row(has_run: bool) -> Vec<Self> {
        use Menu::{Archive, Cpus, Help, Locks, Matrix, Measure, Run, Threads, Time};
        let all = [Measure, Matrix, Locks, Threads, Cpus, Time, Archive, Run, Help];
        all.into_iter().filter(|menu| has_run || *menu != Run).collect()
    }

    pub fn title(&self) -> &str {
        match self {
            Self::Measure => "Measure",
            Self::Matrix => "Matrix",
            Self::Locks => "Locks",
            Self::Threads => "Threads",
            Self::Cpus => "CPUs",
            Self::Time => "Time",
            Self::Archive => "Archive",
            Self::Run => "Run",
            Self::Help => "Help",
            Self::Examples(name) => name,
            Self::Record(id) => id,
        }
    }
}
