//! A call path with names: which frames are the program's own, and what kind of lock the others are of.

mod kind;
mod known;

pub use kind::{Kind, kind_by_use};
pub use known::{OWN_LIBRARY, is_java_machine, is_language_runtime, is_lock_wrapper, is_of_tokio, plain};

use crate::names::{Names, Site, is_c_library, is_wrapper, short};
use crate::python::is_function;
use known::{
    ALLOCATOR, KINDS, STREAM, is_in_module, is_named_lock, is_of_c_library, is_of_channel, is_of_interpreter,
    is_of_library, is_runtime_file, kind_in_machine, kind_of_library,
};
use serde::{Deserialize, Serialize};

/// A function of a call path.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub site: Site,
    /// A function of the C library or of a language's own library.
    pub is_runtime: bool,
    /// A function of the C library.
    pub is_in_c_library: bool,
    /// A function of another library, by where its file or its source is.
    pub is_of_library: bool,
    /// Where the code of the function begins, of which this one may be an inlined part; 0 where that is not known.
    pub begin: u64,
}

/// A call path, the innermost function first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frames {
    pub frames: Vec<Frame>,
    /// The kind of object that the innermost functions wait for, as far as their names show it.
    pub kind: Option<Kind>,
    /// Whether only the name of a function of the program's own says that it is a lock.
    pub is_named_lock: bool,
}

/// A function of a call path with its name and its file: what it is of is not judged yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Called {
    pub site: Site,
    /// The path of the file with its code; empty for a function of Python.
    pub file: String,
    /// Where the code of the function begins, of which this one may be an inlined part; 0 where that is not known.
    pub begin: u64,
    pub is_python: bool,
}

/// Names the functions of a path. The first address is where the thread is, the others are those that calls return to; `called`
/// has the function that each call names, or 0.
/// Python functions follow the addresses; `python` names them.
pub fn called<'a>(
    names: &mut Names,
    process: u32,
    addresses: &[u64],
    called: &[u64],
    python: impl Fn(u64) -> Option<&'a Site>,
) -> Vec<Called> {
    let mut path: Vec<Called> = Vec::new();
    let native = addresses.iter().position(|address| is_function(*address)).unwrap_or(addresses.len());
    let (addresses, functions) = addresses.split_at(native);
    let is_in_loop = |path: &[Called]| {
        let last = path.last().and_then(|called| function_of(&called.site));
        last.is_some_and(|function| function.starts_with("_PyEval_EvalFrameDefault"))
    };
    for (depth, &address) in addresses.iter().enumerate() {
        // A function that ends with a jump to another one has no frame: only the call says its name.
        if let Some(&function) = called.get(depth).filter(|function| **function != 0) {
            let site = names.inlined(process, function + 1).pop();
            let inner = path.last().and_then(|called| function_of(&called.site));
            if let Some(site) = site.filter(|site| function_of(site).is_some() && function_of(site) != inner) {
                let file = file_of(names, process, function);
                path.push(Called { site, file, begin: function, is_python: false });
            }
        }
        let address = address + u64::from(depth == 0);
        let file = file_of(names, process, address);
        let begin = names.function(process, address).unwrap_or(0);
        let sites = names.inlined(process, address).into_iter();
        path.extend(sites.map(|site| Called { site, file: file.clone(), begin, is_python: false }));
        // The callers of the interpreter's loop are other activations of it.
        if !functions.is_empty() && is_in_loop(&path) {
            break;
        }
    }
    let functions = functions.iter().filter_map(|function| python(*function)).cloned();
    path.extend(functions.map(|site| Called { site, file: String::new(), begin: 0, is_python: true }));
    path
}

impl Frames {
    /// Names the functions of a path, as [`called`] does, and judges them.
    pub fn of<'a>(
        names: &mut Names,
        process: u32,
        addresses: &[u64],
        functions: &[u64],
        python: impl Fn(u64) -> Option<&'a Site>,
    ) -> Self {
        Self::judged(called(names, process, addresses, functions, python))
    }

    /// Says what the functions of a path are of: the C library, a language's runtime, another library, or the program.
    pub fn judged(called: impl IntoIterator<Item = Called>) -> Self {
        let mut path = Self::default();
        let mut is_outside = true;
        // Threads that a library keeps wait in it for their next part, unless a function's name says otherwise.
        let mut of_library = None;
        for Called { site, file, begin, is_python } in called {
            if is_python {
                path.frames.push(Frame::of_python(site));
                continue;
            }
            if is_outside && of_library.is_none() {
                of_library = kind_of_library(short(&file));
            }
            path.add(site, (begin, &file), &mut is_outside);
        }
        path.kind = path.kind.or(of_library);
        path
    }

    /// Adds the next outer function, with its begin and the path of its file. `is_outside` is true up to the first function of the
    /// program itself.
    fn add(&mut self, site: Site, (begin, path): (u64, &str), is_outside: &mut bool) {
        let file = short(path);
        let symbol = site.symbol.as_deref().unwrap_or_default();
        let source = site.source.as_deref().unwrap_or_default();
        let is_in_c_library = is_c_library(file) || is_of_c_library(symbol) || self.is_static_allocator(symbol);
        let is_in_library = is_in_c_library || is_runtime_file(file) || is_of_interpreter(path);
        // A lock of the program's own may wait by an atomic or a condition, and so may a queue from which threads acquire jobs.
        let is_named = match self.kind {
            None => is_named_lock(symbol),
            Some(Kind::Park | Kind::Condition) => {
                is_named_lock(symbol) && !symbol.to_ascii_lowercase().contains("acquire")
            }
            Some(_) => false,
        };
        let is_of_language = is_in_library
            || symbol.starts_with("runtime.")
            || is_lock_wrapper(symbol)
            || is_of_channel(symbol)
            || is_of_tokio(symbol)
            || is_wrapper(symbol, source);
        let is_own_lock = *is_outside && is_named && !is_of_language;
        let is_runtime = is_of_language || is_own_lock;
        let is_of_library = is_of_library(path, source);
        // The runtime's functions say what kind it is.
        if *is_outside && is_runtime {
            self.learn_kind(symbol, is_in_library, is_in_c_library);
        }
        if is_own_lock {
            self.kind = Some(Kind::Mutex);
            self.is_named_lock = true;
        }
        if *is_outside && is_java_machine(path) {
            self.kind = kind_in_machine(self.kind, symbol);
        }
        *is_outside &= is_runtime;
        self.frames.push(Frame { site, is_runtime, is_in_c_library, is_of_library, begin });
    }

    /// Returns whether the next outer function is the heap's of a C library that was linked statically: it takes a lock that
    /// only the C library takes.
    fn is_static_allocator(&self, function: &str) -> bool {
        let of_library = |frame: &Frame| {
            function_of(&frame.site).is_some_and(|inner| inner.contains("lll_lock_wait_private") || inner == "__lock")
        };
        ALLOCATOR.contains(&plain(function))
            && self.frames.iter().all(|frame| frame.is_runtime)
            && self.frames.iter().any(of_library)
    }

    fn learn_kind(&mut self, function: &str, is_in_library: bool, is_in_c_library: bool) {
        let kind = KINDS.iter().find(|(part, _)| function.contains(part)).map(|(_, kind)| *kind);
        let by_caller = |function: &str| {
            let plain = plain(function);
            let is_in = |list: &[&str]| list.contains(&plain);
            (is_in(&ALLOCATOR).then_some(Kind::Allocator)).or(is_in(&STREAM).then_some(Kind::Stream))
        };
        // The innermost name counts, but for locks within the C library the name of the called function does. A channel
        // that is full or empty is not a lock, whatever it is made of.
        match self.kind {
            _ if is_of_channel(function) => self.kind = Some(Kind::Channel),
            None => self.kind = kind.or_else(|| by_caller(function).filter(|_| is_in_library)),
            Some(Kind::Library | Kind::Mutex) if is_in_library => {
                // Any other function of the C library acquires a lock of the library.
                let is_other = is_in_c_library && kind.is_none() && !is_of_c_library(function);
                self.kind = by_caller(function).or(is_other.then_some(Kind::Library)).or(self.kind);
            }
            // A future waits for the thread that makes its value, by whatever that ends.
            Some(Kind::Once) if function.starts_with("std::__future_base") => self.kind = kind,
            // What an atomic's wait is part of says more. A mutex of Rust's library does not park its threads.
            Some(Kind::Park) => self.kind = kind.filter(|_| !function.contains("sync::mutex")).or(self.kind),
            Some(_) => {}
        }
    }

    /// Returns the program's own functions, the innermost first.
    pub fn own(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(|frame| !frame.is_runtime)
    }

    /// Returns the functions outside of the C library, the innermost first.
    pub fn outside_c_library(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(|frame| !frame.is_in_c_library)
    }

    /// Returns the function of the C library that the program called, and that acquires a lock of the library.
    pub fn library_call(&self) -> Option<&str> {
        let inner = self.frames.iter().take_while(|frame| frame.is_in_c_library);
        let called = inner.filter(|frame| !frame.is_of_lock()).filter_map(|frame| function_of(&frame.site));
        called.filter(|function| !is_of_c_library(function)).last().map(plain)
    }

    /// Returns the innermost function of the program's own. A compiler can inline all of them into a function of the
    /// language's library: then that is the first one outside the lock's functions. `None` if the path has none.
    pub fn caller(&self) -> Option<&Frame> {
        let outside = self.frames.iter().rposition(Frame::is_of_lock).map_or(0, |last| last + 1);
        let around = || self.frames[outside..].iter().find(|frame| !frame.is_in_c_library);
        self.own().next().or_else(around)
    }

    /// Returns the site of [`Self::caller`].
    pub fn site(&self) -> Option<&Site> {
        self.caller().map(|frame| &frame.site)
    }

    /// Returns whether the innermost functions are of a mutex of Rust's library or of parking_lot, which spin before they block.
    pub fn is_in_library_lock(&self) -> bool {
        const LOCKS: [&str; 4] = ["std::sync::", "std::sys::sync::mutex", "parking_lot::", "lock_api::"];
        let is_its = |frame: &Frame| {
            let symbol = frame.site.symbol.as_deref().unwrap_or_default();
            LOCKS.iter().any(|module| is_in_module(symbol, module))
        };
        self.frames.iter().take_while(|frame| frame.is_runtime).any(is_its)
    }

    /// Returns whether it waits in parking_lot.
    pub fn is_in_parking_lot(&self) -> bool {
        let is_its = |frame: &Frame| frame.site.symbol.as_deref().is_some_and(|symbol| symbol.contains("parking_lot"));
        self.kind.is_some_and(Kind::is_lock) && self.frames.iter().take_while(|frame| frame.is_runtime).any(is_its)
    }

    /// Returns the function that the thread began with, without what languages put around it.
    pub fn start(&self) -> Option<&str> {
        let functions = self.own().filter_map(|frame| function_of(&frame.site));
        functions.filter(|function| *function != "_start").last()
    }
}

impl Frame {
    fn of_python(site: Site) -> Self {
        let is_of_library = is_of_library("", site.source.as_deref().unwrap_or_default());
        Self { site, is_runtime: false, is_in_c_library: false, is_of_library, begin: 0 }
    }

    /// Returns whether it is a function of Python.
    pub fn is_python(&self) -> bool {
        self.site.source.as_deref().is_some_and(|source| source.contains(".py:"))
    }

    /// Returns whether its name says that it is a function of a lock, or one that waits.
    fn is_of_lock(&self) -> bool {
        let function = self.site.symbol.as_deref().unwrap_or_default();
        is_lock_wrapper(function) || is_named_lock(function) || KINDS.iter().any(|(part, _)| function.contains(part))
    }
}

/// Returns the path of the file that an address comes from.
fn file_of(names: &mut Names, process: u32, address: u64) -> String {
    names.in_file(process, address).map_or_else(String::new, |(path, _)| path.to_string_lossy().into_owned())
}

/// Returns the function's name of a site, without the offset in it that stands for a missing line; `None` where there
/// is none.
pub fn function_of(site: &Site) -> Option<&str> {
    let symbol = site.symbol.as_deref()?;
    match symbol.rsplit_once("+0x") {
        // A file and an offset in it do not name a function.
        Some(_) if site.symbol.as_deref() == Some(&*site.label) => None,
        Some((function, _)) => Some(function),
        None => Some(symbol),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purpose::Purpose;

    fn kind(functions: &[(&str, bool)]) -> Option<Kind> {
        let mut frames = Frames::default();
        functions.iter().for_each(|(function, is_of_c)| frames.learn_kind(function, *is_of_c, *is_of_c));
        frames.kind
    }

    #[test]
    fn what_the_c_library_locks_is_said_by_the_function_called() {
        for malloc in
            ["malloc", "__GI___libc_malloc", "__libc_malloc", "_int_free", "cfree@GLIBC_2.2.5", "__libc_calloc+0x12"]
        {
            assert_eq!(kind(&[("__lll_lock_wait_private", true), (malloc, true)]), Some(Kind::Allocator), "{malloc}");
        }
        assert_eq!(kind(&[("__lll_lock_wait_private", true), ("_IO_puts", true)]), Some(Kind::Stream));
        assert_eq!(kind(&[("__lll_lock_wait_private", true), ("getpwnam", true)]), Some(Kind::Library));
        // A function of the program's own that is called like the C library's.
        assert_eq!(kind(&[("__lll_lock_wait_private", true), ("malloc", false)]), Some(Kind::Library));
    }

    #[test]
    fn mutex_of_the_c_library_is_not_the_programs() {
        let wait = [("futex_wait", true), ("__GI___lll_lock_wait", true), ("___pthread_mutex_lock", true)];
        assert_eq!(kind(&wait), Some(Kind::Mutex));
        assert_eq!(kind(&[&wait[..], &[("dl_iterate_phdr", true)]].concat()), Some(Kind::Library));
        assert_eq!(kind(&[&wait[..], &[("walk", false)]].concat()), Some(Kind::Mutex));
        assert_eq!(kind(&[("futex_wait_simple", true), ("__pthread_once_slow", true)]), Some(Kind::Once));
    }

    #[test]
    fn channel_of_rust_is_not_the_mutex_in_it() {
        let park = ("<std::sys::sync::thread_parking::futex::Parker>::park", false);
        let lock = ("<std::sys::sync::mutex::futex::Mutex>::lock_contended", false);
        let channel = ("<std::sync::mpmc::context::Context>::wait_until", false);
        for path in [&[park, lock, channel][..], &[lock, channel], &[park, channel]] {
            assert_eq!(kind(path), Some(Kind::Channel), "{path:?}");
        }
        for function in [
            "crossbeam_channel::utils::Mutex<T>::lock",
            "<crossbeam_channel::waker::SyncWaker>::register",
            "flume::Shared<T>::recv_sync",
            "tokio::sync::mpsc::bounded::Receiver<T>::blocking_recv",
        ] {
            assert_eq!(kind(&[park, lock, (function, false)]), Some(Kind::Channel), "{function}");
        }
        let blocking =
            [("tokio::runtime::park::Inner::park", false), ("tokio::sync::mpsc::chan::Rx<T,S>::recv", false)];
        assert_eq!(
            kind(&[&[("<std::sys::sync::condvar::futex::Condvar>::wait", false)], &blocking[..]].concat()),
            Some(Kind::Channel)
        );
        assert_eq!(kind(&[lock, ("<app::flume::Log>::write", false)]), Some(Kind::Mutex));
        assert_eq!((kind(&[park]), kind(&[lock])), (Some(Kind::Park), Some(Kind::Mutex)));
    }

    #[test]
    fn lock_that_waits_by_an_atomic_is_a_mutex() {
        let kind = |function: &str| {
            let (mut frames, mut is_outside) = (Frames::default(), true);
            let wait = "void std::__atomic_wait_address_bare<int>(int const*, std::__wait_args)";
            let header = Some("/usr/include/c++/14/bits/atomic_wait.h:260");
            for (function, file, source) in
                [("syscall", "libc.so.6", None), (wait, "server", header), (function, "server", None)]
            {
                let (symbol, source) = (Some(function.to_owned()), source.map(str::to_owned));
                frames.add(Site { symbol, source, label: function.to_owned() }, (1, file), &mut is_outside);
            }
            frames.kind
        };
        assert_eq!(kind("SpinLock::lock()"), Some(Kind::Mutex));
        assert_eq!([kind("Queue::pop()"), kind("JobQueue::acquire()")], [Some(Kind::Park); 2]);
    }

    fn kind_in(functions: &[(&str, &str)]) -> Option<Kind> {
        let (mut frames, mut is_outside) = (Frames::default(), true);
        for (function, file) in functions {
            let site = Site { symbol: Some((*function).into()), source: None, label: (*function).into() };
            frames.add(site, (1, file), &mut is_outside);
        }
        frames.kind
    }

    #[test]
    fn lock_that_is_made_of_a_mutex_and_a_condition_is_a_mutex() {
        let kind = |function: &str| kind_in(&[("pthread_cond_wait", "libc.so.6"), (function, "/srv/server")]);
        for lock in ["fair_lock", "boost::shared_mutex::lock_shared()", "Gate::lockShared()", "rw_rdlock+0x12"] {
            assert_eq!(kind(lock), Some(Kind::Mutex), "{lock}");
        }
        for queue in ["take", "lock_and_pop", "acquire_block", "LockedQueue::pop()", "popNoLock", "wait_for_lock_free"]
        {
            assert_eq!(kind(queue), Some(Kind::Condition), "{queue}");
        }
    }

    #[test]
    fn heap_of_a_library_that_was_linked_statically_is_known() {
        let of_program = |functions: &[&str]| {
            kind_in(&functions.iter().map(|function| (*function, "/srv/server")).collect::<Vec<_>>())
        };
        assert_eq!(of_program(&["__lll_lock_wait_private", "malloc", "build"]), Some(Kind::Allocator));
        assert_eq!(of_program(&["__lock", "__libc_malloc_impl", "build"]), Some(Kind::Allocator));
        assert_eq!(of_program(&["pthread_mutex_lock", "malloc", "build"]), Some(Kind::Mutex), "the program's own heap");
    }

    #[test]
    fn results_that_another_thread_computes_are_waited_for_as_work() {
        let future = "std::__atomic_futex_unsigned_base::_M_futex_wait_until(unsigned*, unsigned, bool)";
        let path = [("syscall", "libc.so.6"), (future, "libstdc++.so.6"), ("main", "/srv/server")];
        assert_eq!(kind_in(&path), Some(Kind::Park));
        let pool =
            [("syscall", "libc.so.6"), ("g_cond_wait", "libglib-2.0.so.0"), ("g_async_queue_pop", "libglib-2.0.so.0")];
        assert_eq!(kind_in(&pool), Some(Kind::Condition));
    }

    /// A closure that was inlined into the function of the standard library that calls it, without debugging information.
    #[test]
    fn lock_of_an_inlined_closure_is_named_by_function_around_it() {
        let path = |functions: &[(&str, &str)]| {
            let (mut frames, mut is_outside) = (Frames::default(), true);
            for (function, file) in functions {
                let (symbol, label) = (Some(format!("{function}+0x26")), format!("{function}+0x26 ({file})"));
                frames.add(Site { symbol, source: None, label }, (1, file), &mut is_outside);
            }
            frames
        };
        let end = [("core::ops::function::FnOnce::call_once{{vtable.shim}}", "l"), ("start_thread", "libc.so.6")];
        let around = ("std::sys::backtrace::__rust_begin_short_backtrace", "l");
        let wait = [("syscall", "libc.so.6"), ("std::sys::pal::unix::futex::futex_wait", "l")];
        let lock = [wait[0], wait[1], ("<std::sys::sync::mutex::futex::Mutex>::lock_contended", "l")];
        assert_eq!(path(&lock).site(), None);
        let frames = path(&[&lock[..], &[around], &end].concat());
        assert_eq!((frames.kind, frames.own().count()), (Some(Kind::Mutex), 0));
        assert_eq!(frames.site().unwrap().label, "std::sys::backtrace::__rust_begin_short_backtrace+0x26 (l)");
        let park = [("syscall", "libc.so.6"), ("<std::thread::thread::Thread>::park", "l"), ("l::main", "l")];
        let frames = path(&park);
        assert_eq!((frames.kind, frames.site().unwrap().label.as_str()), (Some(Kind::Park), "l::main+0x26 (l)"));
        assert_eq!(path(&[("syscall", "libc.so.6"), ("clone3", "libc.so.6")]).site(), None);
        let send = [("crossbeam_channel::utils::Mutex<T>::lock", "l"), ("crossbeam_channel::Sender<T>::send", "l")];
        let frames = path(&[&lock[..], &send, &[("pipe::produce", "l")]].concat());
        assert_eq!(
            (frames.kind, frames.site().unwrap().label.as_str()),
            (Some(Kind::Channel), "pipe::produce+0x26 (l)")
        );
    }

    #[test]
    fn service_threads_of_a_java_machine_wait_for_work() {
        let kind = |functions: &[&str], file: &str| {
            let (mut frames, mut is_outside) = (Frames::default(), true);
            let files = functions.iter().enumerate().map(|(depth, _)| if depth == 0 { "libc.so.6" } else { file });
            for (function, file) in functions.iter().zip(files) {
                let site = Site { symbol: Some((*function).into()), source: None, label: (*function).into() };
                frames.add(site, (1, file), &mut is_outside);
            }
            frames.kind
        };
        let (machine, semaphore) = ("/usr/lib/jvm/lib/server/libjvm.so", "__new_sem_wait_slow64");
        for caller in ["GangWorker::loop()", "os::signal_wait()", "WorkerThread::run()"] {
            assert_eq!(kind(&[semaphore, "PosixSemaphore::wait()+0x21", caller], machine), Some(Kind::Machine));
        }
        let condition = kind(&["pthread_cond_wait", "os::PlatformMonitor::wait(long)"], machine);
        assert_eq!(condition, Some(Kind::Machine));
        // Two of its threads that ask and answer have the use of a lock.
        assert_eq!(kind_by_use(Some(Purpose::Exclusion), condition, false), condition);
        assert_eq!(kind(&["pthread_cond_wait", "stripped+0x1f2a"], machine), Some(Kind::Machine));
        assert_eq!(kind(&["pthread_mutex_lock", "os::PlatformMonitor::wait(long)"], machine), Some(Kind::Machine));
        assert_eq!(kind(&["syscall", "LinuxWaitBarrier::wait(int)"], machine), Some(Kind::Machine));
        assert_eq!(kind(&["pthread_mutex_lock", "Mutex::lock_contended(Thread*)"], machine), Some(Kind::Mutex));
        assert_eq!(kind(&[semaphore, "PosixSemaphore::wait()"], "/srv/server"), Some(Kind::Semaphore));
    }

    #[test]
    fn inlined_functions_say_what_an_atomic_wait_is() {
        let wait = "void std::__atomic_wait_address_bare<int>(int const*, std::__wait_args)";
        assert_eq!(kind(&[("syscall", true), (wait, false)]), Some(Kind::Park));
        let acquire = "std::counting_semaphore<64l>::acquire()";
        assert_eq!(kind(&[("syscall", true), (wait, false), (acquire, false)]), Some(Kind::Semaphore));
        assert_eq!(kind(&[("__pthread_clockjoin_ex", true)]), Some(Kind::Join));
        assert_eq!(kind(&[("main", false)]), None);
    }
}
