//! The plan of cells made from the flags.

use super::contestants::{Contestant, Runs, Source, embedded, in_folder, recipes};
use super::flags::{Flags, Placement};
use harness::{Session, UsageError};
use instruments::warning::{LeftOut, Warning};
use loops::ring::Arrangement;
use loops::ring::{CONTESTANTS, LIMITS};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// One contestant in one ring.
#[derive(Clone, Debug)]
pub struct CellPlan {
    pub contestant: Rc<Contestant>,
    pub threads: usize,
    /// The arrangement of a large ring in memory.
    pub arrangement: Option<Arrangement>,
    /// Whether it runs on one CPU; otherwise the kernel places it.
    pub pinned: bool,
}

impl CellPlan {
    /// Describes the length of the ring, and its CPU.
    pub fn ring(&self) -> String {
        format!("{} threads, {}", self.threads, if self.pinned { "pinned" } else { "free" })
    }
}

impl fmt::Display for CellPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.contestant.name, self.ring())
    }
}

/// The input of the measurement.
pub struct Plan {
    pub contestants: Vec<Rc<Contestant>>,
    pub sources: Vec<Source>,
    pub cells: Vec<CellPlan>,
    /// The rings whose memory is measured.
    pub memory: Vec<usize>,
    pub hops: Option<u64>,
    pub timeout: Duration,
    pub precision: f64,
    pub budget: Duration,
    /// Requested configurations that are not measured.
    pub left_out: Vec<Warning>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub threads: Vec<usize>,
    /// The number of hops; `null`: chosen for each contestant.
    pub hops: Option<u64>,
    pub large_ring_threads: usize,
    /// The CPU of pinned contestants, and those of the others.
    pub pinned_cpu: usize,
    pub free_cpus: usize,
    pub budget_s: f64,
    pub timeout_s: f64,
    pub precision_share: f64,
    /// Whether contestants of different classes are compared.
    pub across_classes: bool,
    /// The contestants whose toolchain is missing.
    pub absent: Vec<Absent>,
    /// The order of the repetitions of the cells, round by round, by their numbers.
    pub order: Vec<Vec<usize>>,
    /// The names of the cells, by number.
    pub cells: Vec<String>,
}

/// A contestant that cannot run here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Absent {
    pub contestant: String,
    /// The Debian packages that contain its toolchain.
    pub needs: String,
}

impl Absent {
    /// The need where no directory can be written, instead of packages.
    pub const NO_FOLDER: &str = "a writable directory to build in (set TMPDIR)";

    /// Describes what to install.
    pub fn line(&self) -> String {
        let kind = if self.needs == Self::NO_FOLDER { "" } else { "apt package " };
        format!("{} needs {kind}{}\n", self.contestant, self.needs)
    }
}

/// The default: enough repetitions for an interval, except where a runtime starts slowly.
const BUDGET_OF_A_CELL: Duration = Duration::from_millis(1200);
const LEAST_BUDGET: Duration = Duration::from_secs(20);

impl Plan {
    /// Checks the flags against the contestants and fills in the defaults.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let (known, sources) = known_contestants(flags)?;
        flags.check(known.iter().map(|contestant| (contestant.name.as_str(), contestant.class)))?;
        let mut left_out = Vec::new();
        let mut cells = cells_of_limits(flags, session, &mut left_out);
        let mut contestants = Vec::new();
        for contestant in known.into_iter().filter(|known| flags.asks_for(&known.name, known.class)) {
            let own = cells_of(&contestant, flags, &mut left_out)?;
            if !own.is_empty() {
                contestants.push(contestant);
            }
            cells.extend(own);
        }
        anyhow::ensure!(!contestants.is_empty(), "none of the contestants supports the selected options");
        let budget = session.seconds.unwrap_or_else(|| LEAST_BUDGET.max(BUDGET_OF_A_CELL * cells.len() as u32));
        Ok(Self {
            contestants,
            sources,
            cells,
            memory: if flags.no_memory { Vec::new() } else { flags.threads.iter().map(|&n| n as usize).collect() },
            hops: flags.hops,
            timeout: flags.timeout,
            precision: flags.precision,
            budget,
            left_out,
        })
    }

    /// Returns the description for the record.
    pub fn parameters(
        &self,
        flags: &Flags,
        session: &Session,
        absent: Vec<Absent>,
        order: Vec<Vec<usize>>,
    ) -> Parameters {
        Parameters {
            threads: flags.threads.iter().map(|&threads| threads as usize).collect(),
            hops: self.hops,
            large_ring_threads: flags.large as usize,
            pinned_cpu: session.cpus.first().unwrap_or_default(),
            free_cpus: session.cpus.len(),
            budget_s: self.budget.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
            precision_share: self.precision,
            across_classes: flags.across_classes,
            absent,
            order,
            cells: self.cells.iter().map(CellPlan::to_string).collect(),
        }
    }
}

/// Returns all contestants, and the files of those that are programs.
pub fn known_contestants(flags: &Flags) -> anyhow::Result<(Vec<Rc<Contestant>>, Vec<Source>)> {
    let mut sources = embedded();
    for folder in &flags.recipe {
        sources.extend(in_folder(folder)?);
    }
    let programs = recipes(&sources)?.into_iter().map(Contestant::from);
    let all: Vec<_> = CONTESTANTS.iter().map(Contestant::from).chain(programs).map(Rc::new).collect();
    for (place, contestant) in all.iter().enumerate() {
        if all[..place].iter().any(|other| other.name == contestant.name) {
            return Err(UsageError(format!("--recipe: two contestants have the name {}", contestant.name)).into());
        }
    }
    Ok((all, sources))
}

fn cells_of_limits(flags: &Flags, session: &Session, left_out: &mut Vec<Warning>) -> Vec<CellPlan> {
    let mut cells = Vec::new();
    for limit in LIMITS {
        if limit.across && session.cpus.len() < 2 {
            left_out.push(Warning::from(LeftOut { what: limit.name.into(), reason: "needs two CPUs".into() }));
            continue;
        }
        let contestant = Rc::new(Contestant::from(limit));
        let cell =
            |threads, arrangement| CellPlan { contestant: Rc::clone(&contestant), threads, arrangement, pinned: true };
        if limit.large.is_some() {
            let threads = flags.large as usize;
            let wanted = CONTESTANTS
                .iter()
                .any(|other| threads > 0 && other.large == limit.large && flags.asks_for(other.name, other.class));
            let arrangements = [Arrangement::InOrder, Arrangement::Shuffled].into_iter().filter(|_| wanted);
            cells.extend(arrangements.map(|arrangement| cell(threads, Some(arrangement))));
            continue;
        }
        match limit.threads {
            Some(threads) => cells.push(cell(threads, None)),
            None => cells.extend(flags.threads.iter().map(|&n| cell(n as usize, None))),
        }
    }
    cells
}

fn cells_of(
    contestant: &Rc<Contestant>,
    flags: &Flags,
    left_out: &mut Vec<Warning>,
) -> Result<Vec<CellPlan>, UsageError> {
    let mut cells = Vec::new();
    for &threads in &flags.threads {
        let threads = threads as usize;
        if let Some(reason) = cannot(contestant, threads, flags) {
            left_out.push(refuse(flags, contestant, reason)?);
            continue;
        }
        cells.extend(flags.placement.turns().iter().map(|&pinned| CellPlan {
            contestant: Rc::clone(contestant),
            threads,
            arrangement: None,
            pinned,
        }));
    }
    let large = matches!(contestant.runs, Runs::BuiltIn(built_in) if built_in.large.is_some());
    if large && flags.large > 0 && flags.hops.is_none() && flags.placement != Placement::Free {
        cells.extend([Arrangement::InOrder, Arrangement::Shuffled].map(|arrangement| CellPlan {
            contestant: Rc::clone(contestant),
            threads: flags.large as usize,
            arrangement: Some(arrangement),
            pinned: true,
        }));
    }
    Ok(cells)
}

/// Returns the reason why a contestant cannot run such a ring.
fn cannot(contestant: &Contestant, threads: usize, flags: &Flags) -> Option<String> {
    if threads > contestant.max_threads {
        return Some(format!("supports rings of up to {} threads, not {threads}", contestant.max_threads));
    }
    let expected = contestant.guess_ns(threads) * flags.hops.unwrap_or(0) as f64 / 1e9;
    let allowed = flags.timeout.as_secs_f64();
    (expected > allowed).then(|| {
        format!("{} hops would take about {expected:.0} s; --timeout allows {allowed} s", flags.hops.unwrap_or(0))
    })
}

/// Refuses a contestant that was named; one that is part of all is skipped, with a warning in the record.
fn refuse(flags: &Flags, contestant: &Contestant, reason: String) -> Result<Warning, UsageError> {
    if flags.names(&contestant.name) {
        return Err(UsageError(format!("--contestant {}: {reason}", contestant.name)));
    }
    Ok(Warning::from(LeftOut { what: contestant.name.clone(), reason }))
}
