//! Functions and files of common libraries: those of the C library, of languages and of their packages, by their names.

use super::kind::Kind;
use crate::names::{is_c_library, short};
use crate::python::is_interpreter;

/// Parts of functions' names: of the C library, C++, Rust, Go, OpenMP. The first that is found counts.
pub(super) const KINDS: [(&str, Kind); 56] = [
    ("clockjoin", Kind::Join),
    ("pthread_join", Kind::Join),
    ("pthread_once", Kind::Once),
    ("cxa_guard_acquire", Kind::Once),
    ("sync::once", Kind::Once),
    ("parking_lot::once", Kind::Once),
    ("lll_lock_wait_private", Kind::Library),
    ("mtx_lock", Kind::Mutex),
    ("cnd_wait", Kind::Condition),
    ("cnd_timedwait", Kind::Condition),
    ("thrd_join", Kind::Join),
    ("mtx_timedlock", Kind::Mutex),
    ("lll_mutex", Kind::Mutex),
    ("pthread_mutex", Kind::Mutex),
    ("lll_lock", Kind::Mutex),
    ("pthread_spin", Kind::Spin),
    ("pthread_cond", Kind::Condition),
    ("pthread_rwlock", Kind::RwLock),
    ("pthread_barrier", Kind::Barrier),
    ("counting_semaphore", Kind::Semaphore),
    ("__atomic_semaphore", Kind::Semaphore),
    ("__platform_semaphore", Kind::Semaphore),
    ("sem_wait", Kind::Semaphore),
    ("sem_timedwait", Kind::Semaphore),
    ("sem_clockwait", Kind::Semaphore),
    ("__new_sem", Kind::Semaphore),
    ("std::latch", Kind::Barrier),
    ("std::barrier", Kind::Barrier),
    ("__tree_barrier", Kind::Barrier),
    ("sync::mutex", Kind::Mutex),
    ("sync::rwlock", Kind::RwLock),
    ("sync::condvar", Kind::Condition),
    ("sync::barrier", Kind::Barrier),
    ("raw_mutex::RawMutex", Kind::Mutex),
    ("raw_rwlock::RawRwLock", Kind::RwLock),
    ("Condvar::wait", Kind::Condition),
    ("runtime.lock", Kind::Mutex),
    ("runtime.note", Kind::Condition),
    ("gomp_mutex", Kind::Mutex),
    ("GOMP_critical", Kind::Mutex),
    ("omp_set_lock", Kind::Mutex),
    ("omp_set_nest_lock", Kind::Mutex),
    ("__kmpc_critical", Kind::Mutex),
    ("gomp_barrier", Kind::Barrier),
    ("gomp_team_barrier", Kind::Barrier),
    ("g_cond_wait", Kind::Condition),
    ("std::__future_base", Kind::Park),
    ("__atomic_futex", Kind::Park),
    ("__atomic_wait", Kind::Park),
    ("__atomic_base", Kind::Park),
    ("thread::park", Kind::Park),
    ("Thread>::park", Kind::Park),
    ("Thread::park", Kind::Park),
    ("Parker>::park", Kind::Park),
    ("Parker::park", Kind::Park),
    ("thread_parking", Kind::Park),
];

/// Functions of the C library that take the lock of its heap.
pub(super) const ALLOCATOR: [&str; 16] = [
    "malloc",
    // Of musl.
    "malloc_impl",
    "free",
    "cfree",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_trim",
    "mallinfo",
    "mallinfo2",
    "malloc_info",
];

/// Functions of the C library that take the lock of a stream.
pub(super) const STREAM: [&str; 24] = [
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "puts",
    "fputs",
    "fputc",
    "putc",
    "putchar",
    "fwrite",
    "fread",
    "fgets",
    "fgetc",
    "getc",
    "getchar",
    "getline",
    "getdelim",
    "fflush",
    "ungetc",
    "fseek",
    "ftell",
    "scanf",
    "fscanf",
    "flockfile",
];

/// Functions of common libraries that do nothing but acquire or release a lock, or wait: the caller is the waiter.
pub(super) const WRAPPERS: [&str; 25] = [
    "PyThread_acquire_lock",
    "PyThread_release_lock",
    "PyCOND_TIMEDWAIT",
    "PyMutex_Lock",
    "acquire_timed",
    "g_mutex_lock",
    "g_cond_wait",
    "g_rec_mutex_lock",
    "g_rw_lock_",
    "apr_thread_mutex_",
    "apr_thread_cond_",
    "apr_thread_rwlock_",
    "ngx_thread_mutex_lock",
    "ngx_thread_cond_wait",
    "CRYPTO_THREAD_",
    "rocksdb::port::Mutex::",
    "rocksdb::port::RWMutex::",
    "rocksdb::port::CondVar::",
    "leveldb::port::Mutex::",
    "absl::Mutex::",
    "folly::SharedMutexImpl",
    "inline_mysql_mutex_lock",
    "inline_mysql_rwlock_",
    "psi_mutex_lock",
    "tbb::detail::d1::mutex",
];

/// Modules of Rust whose threads wait for a message, or for room for one. Such a channel is made of locks, which are held
/// for moments.
pub(super) const CHANNELS: [&str; 8] = [
    "std::sync::mpsc::",
    "std::sync::mpmc::",
    "crossbeam_channel::",
    "flume::",
    "kanal::",
    "async_channel::",
    "futures_channel::",
    "tokio::sync::mpsc::",
];

/// The file of the library that contend loads into programs.
pub const OWN_LIBRARY: &str = "memfd:contend-interpose";
/// Libraries that are a language's own.
pub(super) const RUNTIME: [&str; 8] =
    ["libgomp", "libomp", "libiomp", "libtbb", "libstdc++", "libc++", "libgcc_s", OWN_LIBRARY];

/// Directories of a system's libraries.
pub(super) const LIBRARY_DIRECTORIES: [&str; 9] = [
    "/lib/",
    "/lib32/",
    "/lib64/",
    "/usr/lib/",
    "/usr/lib32/",
    "/usr/lib64/",
    "/usr/local/lib/",
    "/nix/store/",
    "/gnu/store/",
];

/// Directories of the sources of libraries: of Cargo's packages, headers and Python's packages.
pub(super) const LIBRARY_SOURCES: [&str; 7] = [
    "/.cargo/registry/",
    "/.cargo/git/",
    "/usr/include/",
    "/usr/local/include/",
    "/lib/python3.",
    "/dist-packages/",
    "/site-packages/",
];

/// Returns whether a function is of a library that the program's author did not write: the shared object at `path` is
/// in a system's directory, or the source is a package's.
pub(super) fn is_of_library(path: &str, source: &str) -> bool {
    let is_of_rust = source.starts_with("/rustc/") || source.contains("/rustlib/src/rust/library/");
    let is_shared_object = path.rsplit('/').next().is_some_and(|file| file.contains(".so"));
    is_of_rust
        || is_shared_object && LIBRARY_DIRECTORIES.iter().any(|directory| path.starts_with(directory))
        || is_shared_object && LIBRARY_SOURCES.iter().any(|directory| path.contains(directory))
        || LIBRARY_SOURCES.iter().any(|directory| source.contains(directory))
}

/// Returns whether the locks of the file at this path are those of a language's runtime, and none of the program's own. A Java
/// virtual machine has further libraries next to its own.
pub fn is_language_runtime(path: &str) -> bool {
    let path = std::path::Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_beside_machine = || path.parent().is_some_and(|folder| folder.join("server/libjvm.so").exists());
    is_java_machine(name) || is_interpreter(name) || path.is_absolute() && is_beside_machine()
}

/// Returns whether the file at this path is a Java virtual machine.
pub fn is_java_machine(path: &str) -> bool {
    short(path) == "libjvm.so"
}

/// Returns the kind of a wait in HotSpot. At its semaphores and conditions its service threads wait for work, and Java's threads
/// for what the thread dumps say. At its barrier they wait for the end of a safepoint. Its mutexes are locks.
pub(super) fn kind_in_machine(kind: Option<Kind>, function: &str) -> Option<Kind> {
    match kind {
        Some(Kind::Semaphore | Kind::Condition) => Some(Kind::Machine),
        Some(Kind::Mutex) if function.contains("PlatformMonitor::wait") => Some(Kind::Machine),
        None if function.contains("WaitBarrier::") => Some(Kind::Machine),
        kind => kind,
    }
}

/// Returns whether it is a function of a channel.
pub(super) fn is_of_channel(function: &str) -> bool {
    CHANNELS.iter().any(|channel| is_in_module(function, channel))
}

/// Returns whether it is a function of tokio, which runs the program's tasks and calls what they wait for.
pub fn is_of_tokio(function: &str) -> bool {
    is_in_module(function, "tokio::")
}

/// Returns whether a module of Rust has a function: `module::function`, `<module::Type<T>>::function`, or
/// `<module::Type<T> as Trait>::function`.
pub(super) fn is_in_module(function: &str, module: &str) -> bool {
    function.trim_start_matches('<').starts_with(module)
}

/// Returns whether a function of a common library does nothing but acquire or release a lock, or wait.
pub fn is_lock_wrapper(function: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| function.starts_with(wrapper))
}

/// Returns whether a function's name says that it acquires a lock and does no more: `my_lock`, `SpinLock::Acquire()`,
/// `Gate::lockShared()`. It may be the program's own lock, and then its caller is the waiter.
pub(super) fn is_named_lock(function: &str) -> bool {
    let mut words = words_of(function);
    let how = ["shared", "exclusive", "upgrade", "read", "write", "contended", "slow"];
    words.pop_if(|word| how.contains(&word.as_str()));
    let is_lock = |word: &str| matches!(word, "lock" | "acquire" | "spinlock" | "mutex" | "rdlock" | "wrlock");
    let is_negated = words.iter().any(|word| matches!(word.as_str(), "no" | "without"));
    words.last().is_some_and(|word| is_lock(word)) && !is_negated
}

/// Returns the words of a function's name, without its module or class, in small letters: `lockShared` has two.
pub(super) fn words_of(function: &str) -> Vec<String> {
    let name = function.split(['(', '+']).next().unwrap_or(function);
    let last = name.rsplit("::").next().unwrap_or(name);
    let mut words: Vec<String> = Vec::new();
    for letter in last.chars() {
        let begins = letter.is_ascii_uppercase() && !words.last().is_none_or(|word| word.ends_with(char::is_uppercase));
        if !letter.is_alphanumeric() || begins {
            words.push(String::new());
        }
        match words.last_mut() {
            _ if !letter.is_alphanumeric() => {}
            Some(word) => word.push(letter),
            None => words.push(letter.into()),
        }
    }
    words.retain(|word| !word.is_empty());
    words.iter().map(|word| word.to_ascii_lowercase()).collect()
}

/// Returns the name that the C library gives a function, without the marks of its aliases.
pub fn plain(function: &str) -> &str {
    let mut function = function.split(['+', '@']).next().unwrap_or(function);
    for mark in ["__GI_", "__libc_", "_IO_", "__", "_", "_", "int_", "new_"] {
        function = function.strip_prefix(mark).unwrap_or(function);
    }
    function
}

/// Returns the kind of a wait in a library with a thread pool.
pub(super) fn kind_of_library(file: &str) -> Option<Kind> {
    let is = |names: &[&str]| names.iter().any(|name| file.starts_with(name));
    is(&["libgomp", "libomp", "libiomp"]).then_some(Kind::Barrier).or(is(&["libtbb"]).then_some(Kind::Park))
}

pub(super) fn is_runtime_file(file: &str) -> bool {
    RUNTIME.iter().any(|own| file.starts_with(own)) || is_c_library(file) || is_interpreter(file)
}

/// Returns whether the file at this path is a module of Python's own library, wherever that is installed.
pub(super) fn is_of_interpreter(path: &str) -> bool {
    path.contains("/lib-dynload/")
}

/// Functions of the C library by which threads wait, begin or call the kernel. In a program that was linked statically
/// they are in the program's file.
pub(super) const OF_C_LIBRARY: [&str; 22] = [
    "syscall",
    "clone",
    "clone3",
    "start_thread",
    "_start",
    "nanosleep",
    "clock_nanosleep",
    "clock_nanosleep_2",
    "usleep",
    "sleep",
    "poll",
    "select",
    "epoll_wait",
    "read",
    "write",
    "fsync",
    "fdatasync",
    "futex_wait",
    "futex_wait_simple",
    "futex_abstimed_wait_common",
    "futex_abstimed_wait_common64",
    "libc_start_main",
];

pub(super) fn is_of_c_library(function: &str) -> bool {
    let name = plain(function);
    let is_of_threads = ["pthread_", "mtx_", "cnd_", "thrd_", "lll_", "sem_", "new_sem_", "futex_abstimed"]
        .iter()
        .any(|part| name.starts_with(part));
    is_of_threads || OF_C_LIBRARY.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libraries_are_known_by_their_files() {
        let own = [
            ("/srv/server", "/srv/src/server.c:3"),
            ("/usr/lib/postgresql/15/bin/postgres", "lock.c:1"),
            ("/srv/plugins/libquery.so", ""),
            ("", "/srv/app/cache.py:7"),
        ];
        let of_library = [
            ("/usr/lib/x86_64-linux-gnu/libpq.so.5.15", ""),
            ("/srv/server", "/root/.cargo/registry/src/index.crates.io-1/rusqlite-0.31.0/src/lib.rs:9"),
            ("/srv/server", "/usr/include/boost/asio/read.hpp:4"),
            ("", "/usr/lib/python3.12/queue.py:180"),
            ("/srv/server", "/rustc/59807616e1fa/library/core/src/hint.rs:276"),
        ];
        assert!(own.iter().all(|(path, source)| !is_of_library(path, source)));
        assert!(of_library.iter().all(|(path, source)| is_of_library(path, source)));
    }

    #[test]
    fn a_function_that_acquires_is_known_by_its_name() {
        for name in
            ["my_lock", "spin_acquire", "SpinLock::Acquire()", "lock_contended+0x12", "TicketLock::lock", "acquireLock"]
        {
            assert!(is_named_lock(name), "{name}");
        }
        let others = [
            "my_unlock",
            "block_io",
            "clock_read",
            "unlocked",
            "deadlock_check",
            "update",
            "locksmith",
            "lock_and_pop",
            "known_lock_problems::{{closure}}",
            "wait_without_lock",
        ];
        for name in others {
            assert!(!is_named_lock(name), "{name}");
        }
    }
}
