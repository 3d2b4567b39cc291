//! The objects that functions wait for.

use crate::purpose::Purpose;

/// The object that functions of libraries wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Mutex,
    /// An object whose use shows that it excludes: a program's own lock, whatever it is made of.
    Lock,
    Spin,
    RwLock,
    Condition,
    Semaphore,
    Barrier,
    Join,
    /// A queue of messages.
    Channel,
    /// An atomic's `wait`, or a thread that is parked.
    Park,
    /// Something in the Java virtual machine: work for a thread of the machine, or what the thread dumps say.
    Machine,
    /// The C library's lock of its heap.
    Allocator,
    /// The C library's lock of a stream.
    Stream,
    /// Another lock of the C library's own.
    Library,
    /// The interpreter's lock of CPython.
    Interpreter,
    /// Something that the first thread initialises while the others wait.
    Once,
}

impl Kind {
    /// Returns the kind's name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Lock => "lock",
            Self::Spin => "spin",
            Self::RwLock => "rwlock",
            Self::Condition => "cond",
            Self::Semaphore => "sem",
            Self::Barrier => "barrier",
            Self::Join => "join",
            Self::Channel => "channel",
            Self::Park => "park",
            Self::Machine => "machine",
            Self::Allocator => "allocator",
            Self::Stream => "stream",
            Self::Library => "libc",
            Self::Interpreter => "interpreter",
            Self::Once => "once",
        }
    }

    /// Returns whether another thread holds the object that is waited for.
    pub fn is_lock(self) -> bool {
        matches!(
            self,
            Self::Mutex
                | Self::Lock
                | Self::Spin
                | Self::RwLock
                | Self::Semaphore
                | Self::Allocator
                | Self::Stream
                | Self::Library
                | Self::Interpreter
                | Self::Once
        )
    }
}

/// Returns the kind of an object by its use, where that is known. Functions of libraries say what they wait for; those of the
/// program's own have any name.
pub fn kind_by_use(purpose: Option<Purpose>, kind: Option<Kind>, is_named: bool) -> Option<Kind> {
    let of_library = kind.filter(|_| !is_named);
    match purpose {
        // Its threads ask and answer, and each thread dump that contend requests makes them do so.
        _ if kind == Some(Kind::Machine) => kind,
        None | Some(Purpose::Pool) => of_library,
        Some(Purpose::Turns) => {
            of_library.filter(|kind| !matches!(kind, Kind::Condition | Kind::Semaphore | Kind::Park))
        }
        // At a barrier of two threads, each wakes the other in turn.
        Some(Purpose::Exclusion) if matches!(of_library, Some(Kind::Barrier | Kind::Join)) => of_library,
        Some(Purpose::Exclusion) => of_library.filter(|kind| kind.is_lock()).or(Some(Kind::Lock)),
        Some(Purpose::Work | Purpose::Together | Purpose::Poll) => of_library.or(Some(Kind::Park)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_function_decides_nothing_where_the_use_is_known() {
        let uses = [Purpose::Exclusion, Purpose::Pool, Purpose::Work, Purpose::Turns];
        for purpose in uses.map(Some) {
            let of_names = [None, Some(Kind::Mutex), Some(Kind::Semaphore)];
            let by_use = of_names.map(|kind| kind_by_use(purpose, kind, kind.is_some()));
            assert_eq!(by_use, [by_use[0]; 3], "{purpose:?}");
        }
        assert_eq!(kind_by_use(Some(Purpose::Pool), Some(Kind::Semaphore), false), Some(Kind::Semaphore));
    }
}
