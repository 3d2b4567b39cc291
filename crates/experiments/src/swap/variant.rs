//! A variant of the program: the lock that it gets, in which of its mutexes (`--swap-only`), and the environment that
//! asks for it.

use anyhow::Context;
use blame::names::{demangled, members_in};
use blame::{Allowance, Lost};
use exchange::{CHOICE, COUNTS, Counts, ONLY};
use harness::{Interruption, UsageError};
use launch::{Plan, Program, Traced, TracedLock, Variables, preload};
use object::{Object, ObjectSymbol};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The program with a lock in some of its mutexes; `plain` and `pass` substitute none.
#[derive(Clone, Debug)]
pub struct Variant {
    pub lock: &'static str,
    /// The mutexes that have it; all if there is none.
    pub only: Found,
}

/// The unmodified program.
pub const PLAIN: &str = "plain";

impl Variant {
    pub fn plain() -> Self {
        Self { lock: PLAIN, only: Found::new() }
    }

    /// Returns the options that select this variant.
    pub fn flags(&self) -> String {
        // A shell would read parentheses.
        let names = names(&self.only).join(",");
        let names = if names.contains('(') { format!("'{names}'") } else { names };
        format!("--swap {} --swap-only {names}", self.lock)
    }

    pub fn is_plain(&self) -> bool {
        self.lock == PLAIN
    }

    /// Returns the environment in which the program loads the library at this path, which counts there.
    pub fn variables(&self, path: &str, counts: &Counts) -> Variables {
        if self.is_plain() {
            return Variables::new();
        }
        let mut variables =
            vec![("LD_PRELOAD", preload(path)), (CHOICE, self.lock.into()), (COUNTS, counts.path().into())];
        if !self.only.is_empty() {
            variables.push((ONLY, ranges(&self.only).into()));
        }
        variables
    }
}

/// Writes the mutexes in the form that the library reads.
fn ranges(only: &Found) -> String {
    let range = |(name, range): &(String, std::ops::Range<u64>)| {
        format!("{}{:x}-{:x}", if is_function(name) { "c" } else { "" }, range.start, range.end)
    };
    only.iter().map(range).collect::<Vec<String>>().join(",")
}

/// The mutexes that a word of `--swap-only` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutexFilter {
    /// All in a variable, or the one at this distance from its beginning.
    Variable { name: String, offset: Option<u64> },
    /// Mutexes that this function of the program's initialises, or is the first to take.
    Function(String),
    /// Those that were waited for most, from the first on.
    Ranks(usize, usize),
}

impl FromStr for MutexFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(ranks) = text.strip_prefix("rank:") {
            let (first, last) = ranks.split_once('-').unwrap_or((ranks, ranks));
            let ranks = first.parse().ok().zip(last.parse().ok());
            let ranks = ranks.filter(|&(first, last): &(usize, usize)| 1 <= first && first <= last && last <= 64);
            return ranks
                .map(|(first, last)| Self::Ranks(first, last))
                .ok_or_else(|| "ranks have the form rank:1 or rank:1-3, from 1 to 64".into());
        }
        // As they are called that lie in no variable: by the function that was seen to take them first.
        let by_use = text.strip_prefix("mutex of ").map(|rest| rest.split(" (").next().unwrap_or(rest));
        let by_use = by_use.map(|rest| rest.split(" #").next().unwrap_or(rest));
        if let Some(name) = by_use.or_else(|| text.strip_suffix(CALL)).filter(|name| !name.is_empty()) {
            return Ok(Self::Function(name.into()));
        }
        let (name, offset) = match text.split_once("+0x") {
            None => (text, None),
            Some((name, digits)) => {
                let offset =
                    u64::from_str_radix(digits, 16).map_err(|_| "offsets have the form NAME+0x28".to_owned())?;
                (name, Some(offset))
            }
        };
        if name.is_empty() || name == CALL {
            Err("must be the name of a variable, or of a function followed by ()".into())
        } else {
            Ok(Self::Variable { name: name.into(), offset })
        }
    }
}

impl fmt::Display for MutexFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable { name, offset: None } => formatter.write_str(name),
            Self::Variable { name, offset: Some(offset) } => write!(formatter, "{name}+{offset:#x}"),
            Self::Function(name) => write!(formatter, "{name}{CALL}"),
            Self::Ranks(first, last) if first == last => write!(formatter, "rank:{first}"),
            Self::Ranks(first, last) => write!(formatter, "rank:{first}-{last}"),
        }
    }
}

/// Variables and functions that were found, by name, and where they lie in the program's file.
pub type Found = Vec<(String, Range<u64>)>;

/// Suffix that marks a name as a function's.
const CALL: &str = "()";

/// Returns the names, each once.
pub fn names(found: &Found) -> Vec<String> {
    let mut names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    names.dedup();
    names
}

/// Returns whether a name is that of a function.
pub fn is_function(name: &str) -> bool {
    name.ends_with(CALL)
}

/// The smallest of the C library's locks; which one is meant is known by where it begins.
const SMALLEST: u64 = size_of::<libc::pthread_spinlock_t>() as u64;
/// The number that the library has room for.
const MOST: usize = 64;

/// Finds the mutexes in the program's file. Those that are named by their rank are found in a traced run.
pub fn find(wanted: &[MutexFilter], plan: &Plan, interruption: &Interruption) -> anyhow::Result<(Found, Lost)> {
    let mut lost = Lost::default();
    if wanted.is_empty() {
        return Ok((Found::new(), lost));
    }
    let program = &plan.program;
    if program.interpreter.is_some() {
        return Err(UsageError(format!(
            "--swap-only: {} is a script; name the program itself",
            program.path.display()
        ))
        .into());
    }
    let file = std::fs::read(&program.path)?;
    let file = object::File::parse(&*file).context("--swap-only: cannot read the program's symbols")?;
    let mut names = Vec::new();
    for only in wanted {
        match only {
            MutexFilter::Ranks(first, last) => {
                let (used, lost_now) = ranked(plan, interruption)?;
                lost = lost.or(lost_now);
                let ranked: Vec<MutexFilter> =
                    used.into_iter().filter(|(_, is_waited_for)| *is_waited_for).map(|(only, _)| only).collect();
                let waited = ranked.len();
                anyhow::ensure!(
                    waited >= *last,
                    "--swap-only rank:{last}: the program waited for only {waited} mutexes"
                );
                names.extend_from_slice(&ranked[first - 1..*last]);
            }
            variable => names.push(variable.clone()),
        }
    }
    let names = record::distinct(&names, MutexFilter::clone);
    let found: Vec<Found> = names.iter().map(|only| lies(only, &file, program)).collect::<Result<_, UsageError>>()?;
    let found = found.concat();
    if found.len() > MOST {
        return Err(UsageError(format!(
            "--swap-only: {} variables and functions named; allowed: at most {MOST}",
            found.len()
        ))
        .into());
    }
    Ok((found, lost))
}

fn lies(only: &MutexFilter, file: &object::File<'_>, program: &Program) -> Result<Found, UsageError> {
    match only {
        MutexFilter::Variable { name, offset } => Ok(vec![in_variable(only, name, *offset, file, program)?]),
        MutexFilter::Function(name) => in_function(only, name, file, program),
        MutexFilter::Ranks(..) => unreachable!("ranks were replaced by names"),
    }
}

/// Steps for the names of a program's symbols: a million of ordinary ones need fewer.
const STEPS_OF_SYMBOLS: u64 = 1 << 30;

/// Returns a function's code: all that the compiler made of it, and of its namesakes with other arguments; or the call
/// at a place in a program without symbols.
fn in_function(
    only: &MutexFilter,
    name: &str,
    file: &object::File<'_>,
    program: &Program,
) -> Result<Found, UsageError> {
    let own_name = program.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let place = name.strip_prefix(own_name).and_then(|rest| rest.strip_prefix("+0x"));
    if let Some(place) = place.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return Ok(vec![(only.to_string(), place..place.saturating_add(1))]);
    }
    let allowance = Allowance::of_steps(STEPS_OF_SYMBOLS);
    let is_named = |of: &str| {
        let bare = demangled(of, &allowance).unwrap_or_default();
        [of.split('.').next(), Some(&bare[..]), bare.split('(').next()].contains(&Some(name))
    };
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let symbols = symbols.filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0);
    let named = symbols.filter(|symbol| symbol.name().is_ok_and(is_named));
    let mut found: Found =
        named.map(|symbol| (only.to_string(), symbol.address()..symbol.address() + symbol.size())).collect();
    found.sort_by_key(|(_, range)| range.start);
    found.dedup();
    if found.is_empty() {
        let program = program.path.display();
        if let Some(exhausted) = allowance.refused() {
            return Err(UsageError(format!("--swap-only {only}: {program}: its symbols need {exhausted}")));
        }
        let why = "has no function of this name; the compiler may have inlined it into its callers";
        return Err(UsageError(format!("--swap-only {only}: {program} {why}")));
    }
    Ok(found)
}

fn in_variable(
    only: &MutexFilter,
    name: &str,
    offset: Option<u64>,
    file: &object::File<'_>,
    program: &Program,
) -> Result<(String, Range<u64>), UsageError> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let symbols = symbols.filter(|symbol| symbol.kind() == object::SymbolKind::Data && symbol.size() >= SMALLEST);
    let allowance = Allowance::of_steps(STEPS_OF_SYMBOLS);
    let is_named = |of: &str| of == name || demangled(of, &allowance).is_ok_and(|demangled| demangled == name);
    let mut named: Vec<_> = symbols.filter(|symbol| symbol.name().is_ok_and(is_named)).collect();
    // A symbol can be in both tables.
    named.sort_by_key(ObjectSymbol::address);
    named.dedup_by_key(|symbol| symbol.address());
    let (program, path) = (program.path.display(), &program.path);
    let symbol = match &named[..] {
        [symbol] => symbol,
        [] => {
            if let Some(exhausted) = allowance.refused() {
                return Err(UsageError(format!("--swap-only {name}: {program}: its symbols need {exhausted}")));
            }
            let why = "has no variable of this name that is large enough for a lock";
            let mut members = members_in(path, &only.to_string());
            members.retain(|(_, size)| *size >= SMALLEST);
            members.sort_unstable();
            members.dedup_by_key(|(address, _)| *address);
            let why = match &members[..] {
                [(address, size)] => return Ok((only.to_string(), *address..address.saturating_add(*size))),
                [] => why.to_owned(),
                several => format!("has {} variables of this name", several.len()),
            };
            return Err(UsageError(format!("--swap-only {name}: {program} {why}")));
        }
        several => {
            let count = several.len();
            return Err(UsageError(format!("--swap-only {name}: {program} has {count} variables of this name")));
        }
    };
    let range = match offset {
        None => symbol.address()..symbol.address() + symbol.size(),
        Some(offset) if offset.checked_add(SMALLEST).is_some_and(|end| end <= symbol.size()) => {
            symbol.address() + offset..symbol.address() + offset + SMALLEST
        }
        Some(_) => {
            return Err(UsageError(format!(
                "--swap-only {only}: offset outside the variable, which has {} bytes",
                symbol.size()
            )));
        }
    };
    Ok((only.to_string(), range))
}

/// Refuses a program in which nothing can be substituted, by a traced run of it.
pub fn refuse_without_locks(traced: &Traced, plan: &Plan) -> anyhow::Result<()> {
    let refusal = traced.refusal(plan.program.language());
    refusal.map_or(Ok(()), |refusal| {
        Err(anyhow::anyhow!(
            "--swap: no lock can be substituted: {refusal}; only mutexes, rwlocks and spin locks of the C library can; \
             `contend trace -- PROGRAM` shows the waits for other locks"
        ))
    })
}

/// Returns the mutexes of a traced run of the program and whether threads waited for each, that with the longest total
/// wait first.
fn ranked(plan: &Plan, interruption: &Interruption) -> anyhow::Result<(Vec<(MutexFilter, bool)>, Lost)> {
    let traced = plan.rank_locks(interruption)?;
    refuse_without_locks(&traced, plan)?;
    let used = |lock: &TracedLock| {
        let only = lock.name.parse().map_err(|why: String| anyhow::anyhow!("{}: {why}", lock.name))?;
        Ok((only, lock.is_waited_for()))
    };
    let mutexes = traced.noted().iter().filter(|lock| lock.excludes() && !lock.folded);
    Ok((mutexes.map(used).collect::<anyhow::Result<_>>()?, traced.lost))
}

/// Returns the ten mutexes with the longest total wait that are in a variable or used first by a function.
pub fn candidates(plan: &Plan, interruption: &Interruption) -> anyhow::Result<(Found, Lost)> {
    const MOST_CANDIDATES: usize = 10;
    let (used, lost) = ranked(plan, interruption)?;
    let alone = |only: &MutexFilter| find(std::slice::from_ref(only), plan, interruption).ok().map(|(found, _)| found);
    let mut found = Found::new();
    for one in used.iter().filter_map(|(only, _)| alone(only)) {
        // A mutex in several places cannot be tried alone.
        if let [one] = &one[..]
            && !found.contains(one)
            && found.len() < MOST_CANDIDATES
        {
            found.push(one.clone());
        }
    }
    anyhow::ensure!(
        !found.is_empty(),
        "--search: no lock of the program is in a global variable of the program or first acquired in one of its \
         functions"
    );
    Ok((found, lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_a_variable_a_place_in_it_or_ranks() {
        for text in ["hot", "locks+0x28", "rank:2", "rank:1-3", "open_cache()"] {
            assert_eq!(text.parse::<MutexFilter>().unwrap().to_string(), text);
        }
        assert_eq!("mutex of Cache::get (cache.cc:12) #2".parse::<MutexFilter>().unwrap().to_string(), "Cache::get()");
        assert_eq!("mutex of server+0x19eb0 #2".parse::<MutexFilter>().unwrap().to_string(), "server+0x19eb0()");
        for wrong in ["", "()", "rank:0", "rank:3-1", "rank:x", "+0x28", "locks+0xzz", "rank:1-65"] {
            assert!(wrong.parse::<MutexFilter>().is_err(), "{wrong}");
        }
    }
}
