//! What a shared object exports, and how it is found there.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

/// The version of `contend_lock.h` that this program understands.
pub const VERSION: u32 = 1;
/// A lock is not larger.
pub const MOST_BYTES: usize = 4096;

/// The four functions of a lock.
#[derive(Clone, Copy)]
pub struct Functions {
    pub init: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub acquire: unsafe extern "C" fn(*mut c_void),
    pub release: unsafe extern "C" fn(*mut c_void),
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

/// An object that is loaded, and stays so until the process ends.
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
/// In words for people: it is no shared object, or none with a lock of this version.
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
    // SAFETY: contend_lock.h says that these are such constants; an object that exports others under the same names
    // was not compiled with it, and is tried in a process of its own first.
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
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
