//! The locks under test: one file each, or one for a family, and one line each in the registry.
//!
//! An experiment writes its loop once, generic over [`Lock`], so that a lock's fast path is inlined into it as it would
//! be in a program. [`build`] turns a name into a type by handing the lock to a [`Builder`].

mod lock;
mod object;
mod peers;
mod pthread;
mod rust;
mod semaphores;
#[cfg(feature = "template")]
mod template;
mod ulocks;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
pub use lock::{Builder, Lock, NoLock, Reach, SharedBuilder, SharedLock};
pub use object::{EmptyCalls, ObjectError, has_crashed, hashes, what_became};
use std::ffi::OsStr;
use std::io;
pub use ulocks::set_patience;

/// Defines the registry: `name => type, processes: the type for several processes or none, about;`, below a condition
/// if not every build has it.
macro_rules! registry {
    (@processes none) => { false };
    (@processes $lock:ty) => { true };
    (@build $builder:ident none) => { None };
    (@build $builder:ident $lock:ty) => { Some($builder.build::<$lock>()) };
    (@shared $builder:ident none) => { None };
    (@shared $builder:ident $lock:ty) => { Some($builder.build_shared::<$lock>()) };
    (
        exclusive { $($(#[$condition:meta])* $name:literal => [$($threads:tt)*], [$($processes:tt)*], $about:literal;)* }
        shared { $($rw_name:literal => [$($rw_threads:tt)*], [$($rw_processes:tt)*], $rw_about:literal;)* }
    ) => {
        /// Every lock, in the order in which `all` runs them.
        pub const ENTRIES: &[Entry] = &[
            $($(#[$condition])* Entry {
                name: $name,
                about: $about,
                between_processes: registry!(@processes $($processes)*),
                readers: false,
            },)*
            $(Entry {
                name: $rw_name,
                about: $rw_about,
                between_processes: registry!(@processes $($rw_processes)*),
                readers: true,
            },)*
        ];

        /// Passes the lock of that name to `builder`; returns `None` for a name that is not in the registry or a lock
        /// that processes cannot share.
        pub fn build<B: Builder>(name: &str, reach: Reach, builder: B) -> Option<io::Result<B::Output>> {
            match (name, reach) {
                $($(#[$condition])*
                ($name, Reach::Threads) => registry!(@build builder $($threads)*),
                $(#[$condition])*
                ($name, Reach::Processes) => registry!(@build builder $($processes)*),)*
                $(($rw_name, Reach::Threads) => registry!(@build builder $($rw_threads)*),
                ($rw_name, Reach::Processes) => registry!(@build builder $($rw_processes)*),)*
                _ => object::build(name, reach, builder),
            }
        }

        /// Does the same for a lock that readers share; returns `None` for one that they do not.
        pub fn build_shared<B: SharedBuilder>(name: &str, reach: Reach, builder: B) -> Option<io::Result<B::Output>> {
            match (name, reach) {
                $(($rw_name, Reach::Threads) => registry!(@shared builder $($rw_threads)*),
                ($rw_name, Reach::Processes) => registry!(@shared builder $($rw_processes)*),)*
                _ => None,
            }
        }
    };
}

registry! {
    exclusive {
        "sysv" => [semaphores::Sysv], [semaphores::Sysv],
            "System V semaphore: one system call per operation (ulocks)";
        "benaphore" => [semaphores::OverSysv], [semaphores::OverSysv],
            "atomic counter in front of a System V semaphore, as in 1998 (ulocks)";
        "benaphore-posix" => [semaphores::OverPosix<false>], [semaphores::OverPosix<true>],
            "atomic counter in front of a POSIX semaphore (ulocks)";
        "usema" => [ulocks::Usema<ulocks::Private>], [ulocks::Usema<ulocks::Shared>],
            "FIFO; enters the kernel only when contended, as in 2002 (ulocks)";
        "usema-spin" => [ulocks::UsemaSpin<ulocks::Private>], [ulocks::UsemaSpin<ulocks::Shared>],
            "usema, spinning up to its spin limit first (ulocks)";
        "calock" => [ulocks::Calock<ulocks::Private>], [ulocks::Calock<ulocks::Shared>],
            "convoy avoidance: unlock always releases, even when it wakes a waiter (ulocks)";
        "calock-spin" => [ulocks::CalockSpin<ulocks::Private>], [ulocks::CalockSpin<ulocks::Shared>],
            "calock, spinning up to its spin limit first (ulocks)";
        "adaptive" => [ulocks::Adaptive<ulocks::Private>], [ulocks::Adaptive<ulocks::Shared>],
            "one atomic operation if uncontended; spins while that pays, then sleeps; starvation-free (ulocks)";
        "biased" => [ulocks::Biased], [none],
            "no atomic operation while only one thread uses it; then adaptive (ulocks)";
        "pi" => [ulocks::Pi<ulocks::Private>], [ulocks::Pi<ulocks::Shared>],
            "priority inheritance in the kernel, FUTEX_LOCK_PI (ulocks)";
        "robust" => [ulocks::Robust<ulocks::Private>], [ulocks::Robust<ulocks::Shared>],
            "reports to the next owner that the last one died (ulocks)";
        "ticket" => [ulocks::Ticket], [ulocks::Ticket],
            "FIFO spin lock (ulocks)";
        "mcs" => [ulocks::Mcs], [none],
            "FIFO spin lock; each waiter spins on its own word (ulocks)";
        "posix" => [semaphores::Posix<false>], [semaphores::Posix<true>],
            "POSIX semaphore (sem_wait, sem_post) of the C library";
        "pthread" => [pthread::Default], [none],
            "pthread mutex, default type";
        // musl has none.
        #[cfg(target_env = "gnu")]
        "pthread-adaptive" => [pthread::Adaptive], [none],
            "pthread mutex, PTHREAD_MUTEX_ADAPTIVE_NP: spins briefly first";
        "pthread-pi" => [pthread::Pi<false>], [pthread::Pi<true>],
            "pthread mutex, priority inheritance";
        "pthread-robust" => [pthread::Robust<false>], [pthread::Robust<true>],
            "pthread mutex, robust: reports to the next owner that the last one died";
        "pthread-shared" => [pthread::Shared], [pthread::Shared],
            "pthread mutex, shared between processes";
        "std" => [rust::Standard], [none],
            "std::sync::Mutex of Rust's standard library, a futex";
        "parking_lot" => [rust::ParkingLot], [none],
            "parking_lot::Mutex: spins, then parks in the library's table";
        "parking_lot-fair" => [rust::Fair], [none],
            "parking_lot::Mutex with a handoff at every unlock (unlock_fair)";
        #[cfg(feature = "c-peers")]
        "ck-fas" => [peers::CkFas], [peers::CkFas],
            "spin lock on one word (Concurrency Kit)";
        #[cfg(feature = "c-peers")]
        "ck-ticket" => [peers::CkTicket], [peers::CkTicket],
            "FIFO spin lock (Concurrency Kit)";
        #[cfg(feature = "c-peers")]
        "ck-mcs" => [peers::CkMcs], [none],
            "FIFO spin lock; each waiter spins on its own word (Concurrency Kit)";
        #[cfg(feature = "c-peers")]
        "nsync" => [peers::Nsync], [none],
            "nsync_mu: spins briefly, then sleeps in its own queue";
        #[cfg(feature = "c-peers")]
        "abseil" => [peers::Abseil], [none],
            "absl::Mutex: spins briefly, then sleeps in its own queue";
        "reciprocating" => [peers::Reciprocating], [none],
            "spin queue in one word, bounded bypass (Dice, Kogan 2025)";
        "hapax" => [peers::Hapax], [peers::SharedHapax],
            "FIFO spin lock that passes values, not pointers (Dice, Kogan 2025)";
        "cna" => [peers::Cna], [none],
            "mcs that prefers waiters of its NUMA node (Dice, Kogan 2019)";
        "twa" => [peers::Twa], [peers::SharedTwa],
            "ticket lock; distant waiters spin on a shared array (Dice, Kogan 2019)";
        "malthusian" => [peers::Malthusian], [none],
            "mcs that keeps surplus waiters passive; waiters sleep (Dice 2017)";
        "uscl" => [peers::Uscl], [none],
            "shares held time out fairly, in slices of 2 ms (Patel et al. 2020)";
        "flexguard" => [peers::FlexGuard], [none],
            "spins while the holder runs, else sleeps (after Laforet et al. 2025)";
        #[cfg(feature = "template")]
        "template" => [template::Flag], [template::Flag],
            "a flag that spins and yields: the lock to copy";
        "none" => [NoLock], [NoLock],
            "no lock: the cost of the measurement itself";
    }
    shared {
        "adaptive-rw" => [ulocks::AdaptiveRw<ulocks::Private>], [ulocks::AdaptiveRw<ulocks::Shared>],
            "reader-writer lock; spins while that pays, then sleeps; starvation-free (ulocks)";
        "rwlock" => [ulocks::RwLock<ulocks::Private>], [ulocks::RwLock<ulocks::Shared>],
            "reader-writer lock with two queues; wakes readers first, as in 2002 (ulocks)";
        "rwlock-fair" => [ulocks::RwLockFair<ulocks::Private>], [ulocks::RwLockFair<ulocks::Shared>],
            "FIFO reader-writer lock (ulocks)";
        "bravo" => [peers::Bravo], [none],
            "adaptive-rw, with readers in a table while none writes (Dice, Kogan 2019)";
    }
}

/// The name of the loop without a lock.
pub const NONE: &str = "none";
/// The name that requests every lock.
const ALL: &str = "all";
/// The name that requests the list instead of a measurement.
const LIST: &str = "list";

/// Returns the parser of the names on the command line, and of paths of shared objects.
pub fn names() -> LockNames {
    let locks = ENTRIES.iter().map(|entry| PossibleValue::new(entry.name).help(entry.about));
    let more = [
        PossibleValue::new(ALL).help("every lock that provides mutual exclusion"),
        PossibleValue::new(LIST).help("print the names and exit"),
    ];
    LockNames(locks.chain(more).collect::<Vec<_>>().into())
}

/// Returns whether only the list is requested.
pub fn asks_for_list(names: &[String]) -> bool {
    names.iter().any(|name| name == LIST)
}

/// Returns the locks of these names, each once; `all` is every lock that excludes, and the one that does not only
/// `with_none`. A shared object is tried and loaded.
///
/// # Errors
/// A shared object that is not a lock to measure.
pub fn chosen(names: &[String], with_none: bool) -> Result<Vec<&'static Entry>, ObjectError> {
    let mut chosen: Vec<&Entry> = Vec::new();
    for name in names {
        let wanted = |entry: &&Entry| entry.name == name || (name == ALL && (with_none || entry.name != NONE));
        let object = object::is_path(name).then(|| object::load(name)).transpose()?;
        for entry in ENTRIES.iter().filter(wanted).chain(object) {
            if !chosen.contains(&entry) {
                chosen.push(entry);
            }
        }
    }
    Ok(chosen)
}

/// Returns whether a lock was selected by its name or its path, and not with `all`.
pub fn is_named(names: &[String], entry: &Entry) -> bool {
    names.iter().any(|name| name == entry.name) || object::entry(entry.name).is_some()
}

/// Returns whether the lock comes from a shared object.
pub fn is_object(name: &str) -> bool {
    object::entry(name).is_some()
}

/// Returns the locks with one line each.
pub fn list() -> String {
    let who = |entry: &Entry| if entry.between_processes { "threads, processes" } else { "threads" };
    let table = terminal::table_of_words(
        &["lock", "shared by", "description"],
        ENTRIES.iter().map(|entry| vec![entry.name.to_owned(), who(entry).to_owned(), entry.about.to_owned()]),
    );
    table + NOTE
}

/// A note for a build whose C library is not that of most programs here.
const NOTE: &str = if cfg!(target_env = "musl") {
    "\nThis contend is statically linked: pthread and posix are those of musl, not of the\nsystem's C library; \
     adaptive releases with an atomic operation, since musl\nregisters no restartable sequences.\n"
} else {
    ""
};

/// Returns the entry of that name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name).or_else(|| object::entry(name))
}

/// A lock in the registry: its name and its description, for lists and help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// The description in one line.
    pub about: &'static str,
    /// True if processes can share it.
    pub between_processes: bool,
    /// True if it has readers.
    pub readers: bool,
}

impl Entry {
    /// Returns whether its waiters never block.
    pub fn only_spins(&self) -> bool {
        ["ticket", "mcs", "reciprocating", "hapax", "cna", "twa", "ck-fas", "ck-ticket", "ck-mcs"].contains(&self.name)
    }
}

/// Names that users expect, and the locks that each may mean.
const NEAR: &[(&[&str], &str)] = &[
    (&["mutex", "lock", "std::mutex", "std::sync::mutex"], "std or pthread"),
    (&["pthread_mutex", "pthread_mutex_t", "pthreads", "posix-mutex", "nptl"], "pthread"),
    (&["parking-lot", "parkinglot", "plot"], "parking_lot"),
    (&["spin", "spinlock", "spin-lock", "pthread-spin"], "ticket or mcs"),
    (&["futex"], "std, pthread or adaptive"),
    (&["sem", "semaphore", "sem_t"], "posix or sysv"),
    (&["rw", "rwmutex", "shared_mutex", "pthread-rwlock", "pthread_rwlock"], "rwlock or adaptive-rw"),
    (&["absl", "abseil-mutex"], "abseil, which a build with --features c-peers has"),
    (&["tas", "ttas", "flag"], "ticket or mcs"),
    (&["clh", "qspinlock", "queue"], "mcs"),
];

fn near(text: &str) -> Option<&'static str> {
    let name = text.trim().to_lowercase();
    match ENTRIES.iter().find(|entry| entry.name == name) {
        Some(entry) => Some(entry.name).filter(|known| *known != text),
        None => NEAR.iter().find(|(names, _)| names.contains(&&*name)).map(|(_, locks)| *locks),
    }
}

fn not_a_lock(name: &str, near: &str) -> Error {
    let message = format!("--lock {name}: unknown lock; near: {near}; `contend latency --lock list` lists all locks\n");
    Error::raw(ErrorKind::InvalidValue, message)
}

/// The parser of the names of the registry, and of paths of shared objects.
#[derive(Clone)]
pub struct LockNames(PossibleValuesParser);

impl TypedValueParser for LockNames {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        match value.to_str().filter(|name| object::is_path(name)) {
            Some(path) => Ok(path.to_owned()),
            None => match value.to_str().and_then(near) {
                Some(names) => Err(not_a_lock(&value.to_string_lossy(), names)),
                None => self.0.parse_ref(command, argument, value),
            },
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}
