//! A lock of a shared object as a lock under test; the exports of the object, and the way to find them.

use super::watch::{Within, enter, is_lost};
use crate::lock::Lock;
use crossbeam_utils::CachePadded;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;

/// A lock of a shared object. The functions, which no thread writes, are on a separate line, or every call would wait
/// for the lock's line.
pub struct FromObject {
    functions: CachePadded<Functions>,
    memory: CachePadded<UnsafeCell<[u8; MOST_BYTES]>>,
    is_made: bool,
}

// SAFETY: the memory is touched by the object's functions alone, and contend_lock.h says that any thread may call them.
unsafe impl Sync for FromObject {}
// SAFETY: contend_lock.h says that any thread may call the functions, and the lock is not moved between `settle` and
// its end.
unsafe impl Send for FromObject {}

thread_local! {
    /// The functions of the next lock of this thread: a type has no arguments.
    static WANTED: Cell<Option<Functions>> = const { Cell::new(None) };
}

/// Makes locks of this object in `work`.
pub fn with_object<T>(exports: &Exports, work: impl FnOnce() -> T) -> T {
    WANTED.set(Some(exports.functions));
    let done = work();
    WANTED.set(None);
    done
}

impl FromObject {
    fn of(functions: Functions) -> Self {
        let memory = CachePadded::new(UnsafeCell::new([0; MOST_BYTES]));
        Self { functions: CachePadded::new(functions), memory, is_made: false }
    }

    fn address(&self) -> *mut c_void {
        self.memory.get().cast()
    }
}

/// A guard that releases the lock when it is dropped.
pub struct Guard<'a>(&'a FromObject);

impl Lock for FromObject {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        WANTED.get().map(Self::of).ok_or_else(|| io::Error::other("no object was chosen"))
    }

    fn settle(&mut self) -> io::Result<()> {
        enter(Within::Init);
        // SAFETY: the memory is zeroed and stays where it is from here on.
        let made = unsafe { (self.functions.init)(self.address()) };
        enter(Within::Nothing);
        match made {
            0 => {
                self.is_made = true;
                Ok(())
            }
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    #[inline(always)]
    fn lock(&self) -> Guard<'_> {
        enter(Within::Acquire);
        // SAFETY: the lock was made by `settle`, and this thread does not have it: a guard would.
        unsafe { (self.functions.acquire)(self.address()) };
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        enter(Within::Release);
        // SAFETY: the lock was made by `settle`, and the thread that has the guard has the lock.
        unsafe { (self.0.functions.release)(self.0.address()) };
        // A crash from here on is not the object's.
        enter(Within::Nothing);
    }
}

impl Drop for FromObject {
    fn drop(&mut self) {
        // Threads may have been lost in another of the object's locks.
        if self.is_made && !is_lost() {
            enter(Within::Destroy);
            // SAFETY: the lock was made, and is free: a guard borrows it.
            unsafe { (self.functions.destroy)(self.address()) };
            enter(Within::Nothing);
        }
    }
}

/// The lock of an object whose functions do nothing, which measures the cost of calls through pointers. It excludes no
/// thread.
pub struct EmptyCalls(FromObject);

impl Lock for EmptyCalls {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        let functions = Functions { init: made, acquire: nothing, release: nothing, destroy: nothing };
        // The compiler does not know the functions, as with an object.
        Ok(Self(FromObject::of(std::hint::black_box(functions))))
    }

    #[inline(always)]
    fn lock(&self) -> Guard<'_> {
        self.0.lock()
    }
}

extern "C" fn made(_: *mut c_void) -> c_int {
    0
}

extern "C" fn nothing(_: *mut c_void) {}

/// The version of `contend_lock.h` that this program understands.
const VERSION: u32 = 1;
/// The largest size of a lock.
pub const MOST_BYTES: usize = 4096;

/// The four functions of a lock.
#[derive(Clone, Copy)]
pub struct Functions {
    pub init: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub acquire: unsafe extern "C" fn(*mut c_void),
    pub release: unsafe extern "C" fn(*mut c_void),
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

/// The exports of a loaded object, which stays loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Exports {
    pub functions: Functions,
    pub size: usize,
}

const NAMES: [&CStr; 6] = [
    c"contend_lock_version",
    c"contend_lock_size",
    c"contend_lock_init",
    c"contend_lock_acquire",
    c"contend_lock_release",
    c"contend_lock_destroy",
];

/// Loads the object and finds what it exports. Its constructors run.
///
/// # Errors
/// A message if the file is not a shared object, or has no lock of this version.
pub fn open(path: &OsStr) -> Result<Exports, String> {
    if cfg!(target_feature = "crt-static") {
        return Err(
            "this contend is statically linked and cannot load shared objects; use the Debian package or `cargo install`"
                .to_owned(),
        );
    }
    let name = CString::new(path.as_bytes()).map_err(|_| "the name contains a null byte".to_owned())?;
    // SAFETY: the name ends with a zero byte. What the object's constructors do is the user's wish.
    let object = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if object.is_null() {
        return Err(last_error());
    }
    // SAFETY: the handle is good and the name ends with a zero byte.
    let found = NAMES.map(|name| unsafe { libc::dlsym(object, name.as_ptr()) });
    let missing: Vec<&str> = NAMES.iter().zip(found).filter(|(_, address)| address.is_null()).map(in_words).collect();
    if !missing.is_empty() {
        return Err(format!(
            "missing symbols: {}; contend_lock.h lists the functions that a lock must export",
            missing.join(", ")
        ));
    }
    let [version, size, init, acquire, release, destroy] = found;
    // SAFETY: contend_lock.h says that these are such constants; an object that exports others under the same names was
    // not compiled with it, and is tried in a separate process first.
    let (version, size) = unsafe { (version.cast::<u32>().read_unaligned(), size.cast::<usize>().read_unaligned()) };
    if version != VERSION {
        return Err(format!("contend_lock_version is {version}; supported: {VERSION}"));
    }
    if size == 0 || size > MOST_BYTES {
        return Err(format!("contend_lock_size is {size}; allowed: 1 to {MOST_BYTES} bytes"));
    }
    // SAFETY: the addresses are those of functions of these types, as contend_lock.h says.
    let functions = unsafe {
        Functions {
            init: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(init),
            acquire: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(acquire),
            release: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(release),
            destroy: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(destroy),
        }
    };
    Ok(Exports { functions, size })
}

fn in_words((name, _): (&&'static CStr, *mut c_void)) -> &'static str {
    name.to_str().expect("the names are ASCII")
}

fn last_error() -> String {
    // SAFETY: the text, if there is one, ends with a zero byte and lasts until the next call of this thread.
    let text: *mut c_char = unsafe { libc::dlerror() };
    if text.is_null() {
        return "cannot load the shared object".to_owned();
    }
    // SAFETY: the pointer is not null, so it is to a text that ends with a zero byte and lasts until the next call of
    // this thread.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
