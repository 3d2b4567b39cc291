//! The programs that the program starts: one that cannot load this library runs as it does without contend.
//!
//! The loader complains about a library that it cannot load, on the program's standard error, and the one of musl ends
//! the program. So the calls that start programs are replaced. If the environment that is passed on names this library,
//! and the new program would fail to load it, the call gets an environment without that name. These cannot load it:
//! - programs of another word size or machine, or with another loader than the GNU C library's;
//! - those that do not reach its file: it is found by contend's own directory in `/proc`, which another user may not
//!   read, and which another root, or another `/proc`, does not have.
//!
//! All of this is done on the stack, and with system calls alone: a child of `vfork` comes here, too.

use super::kernel::{AT_FDCWD, File, GETEUID, call, identity, read_at};
use super::next_object::{find, next, path_of_object};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

type Text = *const c_char;
type List = *const Text;
type Any = *mut c_void;

unsafe extern "C" {
    static environ: List;
}

next! {
    execve(a: Text, b: List, c: List);
    execvpe(a: Text, b: List, c: List);
    fexecve(a: c_int, b: List, c: List);
    execveat(a: c_int, b: Text, c: List, d: List, e: c_int);
    posix_spawn(a: Any, b: Text, c: Any, d: Any, e: List, f: List);
    posix_spawnp(a: Any, b: Text, c: Any, d: Any, e: List, f: List);
    system(a: Text);
}

fn find_all() {
    find_functions();
}

/// The path of this library, as the environment has it; null until it is known.
static OWN: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
/// Its device and number, by which another file that the path leads to by now is recognised.
static IDENTITY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Notes the path of this library, at its start.
pub fn prepare() {
    find_all();
    let path = path_of_object((&raw const OWN).cast_mut().cast());
    if path.is_null() {
        return;
    }
    // SAFETY: the loader's name of an object ends with a NUL, and stays.
    let found = unsafe { File::open(AT_FDCWD, path) }.and_then(|file| identity(file.number()));
    if let Some(found) = found {
        IDENTITY.iter().zip(found).for_each(|(word, found)| word.store(found, Relaxed));
        USER.store(user(), Relaxed);
        OWN.store(path.cast_mut(), Release);
    }
}

/// Returns the path of this library.
fn own() -> Option<&'static CStr> {
    let path = OWN.load(Acquire);
    // SAFETY: the pointer is to the loader's name of this library, which ends with a NUL and stays.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

/// The effective user that has loaded it.
static USER: AtomicU32 = AtomicU32::new(0);

fn user() -> u32 {
    // SAFETY: the call takes nothing.
    unsafe { call(GETEUID, [0; 4]) as u32 }
}

/// Returns whether the path will lead to this library. Another user than root loses its capabilities when it starts a
/// program: what it can open in `/proc` now says nothing then.
fn is_reached(own: &CStr) -> bool {
    let is_its_own = || matches!(user(), user if user == 0 || user == USER.load(Relaxed));
    if own.to_bytes().starts_with(b"/proc/") && !is_its_own() {
        return false;
    }
    // SAFETY: the path ends with a NUL.
    let found = unsafe { File::open(AT_FDCWD, own.as_ptr()) }.and_then(|file| identity(file.number()));
    found == Some([IDENTITY[0].load(Relaxed), IDENTITY[1].load(Relaxed)])
}

const VARIABLE: &[u8] = b"LD_PRELOAD=";

/// Returns the libraries that the value of a variable names, if it is the loader's list.
fn libraries(variable: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    Some(variable.strip_prefix(VARIABLE)?.split(|byte| b": ".contains(byte)).filter(|name| !name.is_empty()))
}

/// Returns the place in a list of variables of the one that names this library, and the library's path.
fn named(list: List) -> Option<(usize, &'static CStr)> {
    // A program that has forbidden itself system calls may start others, but the calls that are made here may end it.
    let own = own().filter(|_| !crate::preload::is_confined())?;
    let names_it = |(_, variable): &(usize, &[u8])| {
        libraries(variable).is_some_and(|mut names| names.any(|name| name == own.to_bytes()))
    };
    // SAFETY: the program gives a list of variables.
    unsafe { entries(list) }.find(names_it).map(|(place, _)| (place, own))
}

/// Returns the texts of a list with their places.
///
/// # Safety
/// The pointer is null, or to a list that ends with a null pointer; its texts end with a NUL.
unsafe fn entries<'a>(list: List) -> impl Iterator<Item = (usize, &'a [u8])> {
    (0..).map_while(move |place| {
        // SAFETY: no entry before this one was null, so it is within the list.
        let text = if list.is_null() { null() } else { unsafe { list.add(place).read() } };
        // SAFETY: a text ends with a NUL, by this function's contract.
        (!text.is_null()).then(|| (place, unsafe { CStr::from_ptr(text) }.to_bytes()))
    })
}

/// The largest list of variables that is copied, and the longest list of libraries.
const VARIABLES: usize = 1000;
const LONGEST: usize = 1024;

/// The variable without this library, and its length; 0 if it names no other.
fn without(variable: &[u8], own: &[u8], room: &mut [u8; LONGEST]) -> Option<usize> {
    let mut length = 0;
    for name in libraries(variable)?.filter(|name| *name != own) {
        let before = if length == 0 { VARIABLE } else { b":" };
        for part in [before, name] {
            // The last byte stays the NUL.
            room[..LONGEST - 1].get_mut(length..length + part.len())?.copy_from_slice(part);
            length += part.len();
        }
    }
    Some(length)
}

/// The program that a call starts.
enum Target {
    /// A file, from a directory on.
    Path(c_int, Text),
    /// A name that is searched for in `PATH`.
    Name(Text),
    /// An open file.
    Open(c_int),
}

impl Target {
    fn name(&self) -> &[u8] {
        match *self {
            // SAFETY: the program gives a text that ends with a NUL.
            Self::Path(_, text) | Self::Name(text) if !text.is_null() => unsafe { CStr::from_ptr(text) }.to_bytes(),
            _ => b"a program",
        }
    }
}

/// Starts a program by `start`, which gets the variables that it is to have.
#[inline(always)]
fn starting(target: Target, list: List, start: impl FnOnce(List) -> c_int) -> c_int {
    match named(list) {
        Some((place, own)) if !is_reached(own) || !loads(&target) => start_without(&target, list, place, own, start),
        _ => start(list),
    }
}

#[cold]
#[inline(never)]
fn start_without(target: &Target, list: List, place: usize, own: &CStr, start: impl FnOnce(List) -> c_int) -> c_int {
    let (mut copy, mut room) = ([null(); VARIABLES + 1], [0; LONGEST]);
    // SAFETY: the program gives a list of variables, and `place` is of one of them.
    let variable = unsafe { CStr::from_ptr(list.add(place).read()) };
    let Some(length) = without(variable.to_bytes(), own.to_bytes(), &mut room) else { return start(list) };
    let mut copied = 0;
    // SAFETY: the program gives a list of variables.
    for (at, variable) in unsafe { entries(list) } {
        let text = match (at == place, length) {
            (true, 0) => continue,
            (true, _) => room.as_ptr().cast(),
            (false, _) => variable.as_ptr().cast(),
        };
        // The last one stays the null pointer that ends the list.
        match copy[..VARIABLES].get_mut(copied) {
            Some(entry) => *entry = text,
            None => return start(list),
        }
        copied += 1;
    }
    crate::preload::leave_out(target.name());
    start(copy.as_ptr())
}

/// A script whose interpreter is a script, and so on: the kernel goes as far.
const SCRIPTS: usize = 5;

/// Returns whether the program can load this library, as far as that can be seen.
#[inline(never)]
fn loads(target: &Target) -> bool {
    let (mut bytes, mut next) = ([0; 1024], [0; 256]);
    let mut file = match *target {
        Target::Open(file) => return kind(file as usize, &mut bytes, &mut next) != Kind::Stranger,
        // SAFETY: the program gives a path that ends with a NUL.
        Target::Path(directory, path) if !path.is_null() => unsafe { File::open(directory, path) },
        // SAFETY: the program gives a name that ends with a NUL.
        Target::Name(name) if !name.is_null() => unsafe { searched(name) },
        _ => None,
    };
    for _ in 0..SCRIPTS {
        let Some(open) = &file else { return true };
        match kind(open.number(), &mut bytes, &mut next) {
            Kind::Stranger => return false,
            Kind::Loads => return true,
            // SAFETY: `kind` leaves a path there that ends with a NUL.
            Kind::Script => file = unsafe { File::open(AT_FDCWD, next.as_ptr().cast()) },
        }
    }
    true
}

/// Opens the file of a program that is searched for.
///
/// # Safety
/// The name ends with a NUL.
#[inline(never)]
unsafe fn searched(name: Text) -> Option<File> {
    // SAFETY: by this function's contract.
    let name = unsafe { CStr::from_ptr(name) };
    if name.to_bytes().contains(&b'/') {
        // SAFETY: the path ends with a NUL.
        return unsafe { File::open(AT_FDCWD, name.as_ptr()) };
    }
    // SAFETY: the variables of the process are a list.
    let path = unsafe { entries(environ) }.find_map(|(_, variable)| variable.strip_prefix(b"PATH="));
    path.unwrap_or(b"/bin:/usr/bin").split(|byte| *byte == b':').find_map(|directory| {
        let (mut path, mut length) = ([0; 1024], 0);
        let directory = if directory.is_empty() { b"." } else { directory };
        for part in [directory, b"/", name.to_bytes()] {
            path[..1023].get_mut(length..length + part.len())?.copy_from_slice(part);
            length += part.len();
        }
        // SAFETY: the path is shorter than its room, so a NUL follows it.
        unsafe { File::open(AT_FDCWD, path.as_ptr().cast()) }
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It can load this library, or has no loader.
    Loads,
    Stranger,
    Script,
}

/// Looks at the first bytes of a file; `path` then has the path of a script's interpreter.
fn kind(file: usize, bytes: &mut [u8; 1024], path: &mut [u8; 256]) -> Kind {
    let begin = read_at(file, bytes, 0);
    if let Some(line) = begin.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return copied(word, path).map_or(Kind::Loads, |()| Kind::Script);
    }
    if !begin.starts_with(b"\x7fELF") {
        return Kind::Loads;
    }
    match loader(begin) {
        None => Kind::Stranger,
        Some([_, 0]) => Kind::Loads,
        Some([from, length]) => {
            let length = (length as usize).min(path.len());
            let name = read_at(file, &mut path[..length], from);
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            if name.starts_with(b"ld-linux") { Kind::Loads } else { Kind::Stranger }
        }
    }
}

fn copied(word: &[u8], room: &mut [u8; 256]) -> Option<()> {
    room.fill(0);
    (!word.is_empty()).then_some(())?;
    room[..255].get_mut(..word.len())?.copy_from_slice(word);
    Some(())
}

/// Returns the place and the length of the name of a program's loader, both 0 without one; `None` for a program of
/// another word size or machine.
fn loader(begin: &[u8]) -> Option<[u64; 2]> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    const INTERPRETER: u32 = 3;
    let two = |at: usize| Some(u16::from_le_bytes(begin.get(at..at + 2)?.try_into().ok()?));
    let eight = |at: usize| Some(u64::from_le_bytes(begin.get(at..at.checked_add(8)?)?.try_into().ok()?));
    if begin.get(4..6) != Some(&[2, 1]) || two(18) != Some(MACHINE) {
        return None;
    }
    let header = |number: u16| {
        let at = (eight(32)? as usize).checked_add(usize::from(number) * usize::from(two(54)?))?;
        (eight(at)? as u32 == INTERPRETER).then_some(())?;
        Some([eight(at.checked_add(8)?)?, eight(at.checked_add(32)?)?])
    };
    Some((0..two(56).unwrap_or(0)).find_map(header).unwrap_or([0, 0]))
}

/// Returns the variables of the process.
fn variables() -> List {
    // SAFETY: the C library's word is a pointer; the program keeps it from being changed while it starts another.
    unsafe { environ }
}

/// Lets the process's own variables name this library no more, where its file is not reached.
fn forget_unreached() {
    static REST: [AtomicU64; LONGEST / 8] = [const { AtomicU64::new(0) }; LONGEST / 8];
    let list = variables();
    let Some((place, own)) = named(list).filter(|(_, own)| !is_reached(own)) else { return };
    let mut room = [0; LONGEST];
    // SAFETY: the list has this entry, which ends with a NUL.
    let variable = unsafe { CStr::from_ptr(list.add(place).read()) };
    let Some(length) = without(variable.to_bytes(), own.to_bytes(), &mut room) else { return };
    if length == 0 {
        room[..VARIABLE.len()].copy_from_slice(VARIABLE);
    }
    let words = room.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_ne_bytes);
    REST.iter().zip(words).for_each(|(to, word)| to.store(word, Relaxed));
    // SAFETY: the list has this entry, and the program keeps its variables from being changed while it starts another
    // program with them.
    unsafe { list.cast_mut().add(place).write(REST.as_ptr().cast()) };
}

/// The replacements.
mod replaced {
    use super::super::next_object::keeping_errno;
    use super::*;

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn execve(path: Text, arguments: List, list: List) -> c_int {
        // SAFETY: the arguments are passed on as the program gave them, but for the library's name.
        starting(Target::Path(AT_FDCWD, path), list, |list| unsafe { super::execve()(path, arguments, list) })
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn execv(path: Text, arguments: List) -> c_int {
        execve(path, arguments, variables())
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn execvpe(name: Text, arguments: List, list: List) -> c_int {
        // SAFETY: the arguments are passed on as the program gave them, but for the library's name.
        starting(Target::Name(name), list, |list| unsafe { super::execvpe()(name, arguments, list) })
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn execvp(name: Text, arguments: List) -> c_int {
        execvpe(name, arguments, variables())
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn fexecve(file: c_int, arguments: List, list: List) -> c_int {
        // SAFETY: the arguments are passed on as the program gave them, but for the library's name.
        starting(Target::Open(file), list, |list| unsafe { super::fexecve()(file, arguments, list) })
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn execveat(directory: c_int, path: Text, arguments: List, list: List, flags: c_int) -> c_int {
        // SAFETY: the program gives a path that ends with a NUL, or null.
        let is_empty = path.is_null() || unsafe { path.read() } == 0;
        let target = if is_empty { Target::Open(directory) } else { Target::Path(directory, path) };
        // SAFETY: the arguments are passed on as the program gave them, but for the library's name.
        starting(target, list, |list| unsafe { super::execveat()(directory, path, arguments, list, flags) })
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn posix_spawn(pid: Any, path: Text, actions: Any, how: Any, arguments: List, list: List) -> c_int {
        let target = Target::Path(AT_FDCWD, path);
        // SAFETY: the arguments are passed on as the program gave them, but for the library's name.
        starting(target, list, |list| unsafe { super::posix_spawn()(pid, path, actions, how, arguments, list) })
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn posix_spawnp(pid: Any, name: Text, actions: Any, how: Any, arguments: List, list: List) -> c_int {
        let target = Target::Name(name);
        // SAFETY: the arguments are passed on as the program gave them, but for the library's name.
        starting(target, list, |list| unsafe { super::posix_spawnp()(pid, name, actions, how, arguments, list) })
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn system(command: Text) -> c_int {
        keeping_errno(forget_unreached);
        // SAFETY: the argument is passed on as the program gave it.
        unsafe { super::system()(command) }
    }

    #[cfg_attr(preload, unsafe(no_mangle))]
    extern "C" fn popen(command: Text, way: Text) -> Any {
        keeping_errno(forget_unreached);
        let real = keeping_errno(|| find(c"popen"));
        // SAFETY: the C library's function has this type, and the arguments are passed on as the program gave them.
        unsafe { core::mem::transmute::<Any, extern "C" fn(Text, Text) -> Any>(real)(command, way) }
    }

    /// The arguments of a call of `execl` after the path: those in registers, and those on the stack.
    #[cfg(target_arch = "x86_64")]
    const IN_REGISTERS: usize = 5;
    #[cfg(not(target_arch = "x86_64"))]
    const IN_REGISTERS: usize = 7;
    const ARGUMENTS: usize = 4096;
    const E2BIG: c_int = 7;

    /// Passes the arguments on as a list; the flag says whether the variables follow them.
    #[inline(never)]
    unsafe fn listed(registers: List, stack: List, has_list: bool, start: impl FnOnce(List, List) -> c_int) -> c_int {
        let argument = |number: usize| match number.checked_sub(IN_REGISTERS) {
            // SAFETY: no argument before this one was null, so it is one of the call's.
            None => unsafe { registers.add(number).read() },
            // SAFETY: no argument before this one was null, so it is on the stack of the call.
            Some(further) => unsafe { stack.add(further).read() },
        };
        let count = (0..ARGUMENTS).take_while(|number| !argument(*number).is_null()).count();
        if count == ARGUMENTS {
            // SAFETY: the C library has such a word for every thread.
            unsafe { *super::super::next_object::__errno_location() = E2BIG };
            return -1;
        }
        let list = if has_list { argument(count + 1).cast() } else { variables() };
        // The thread's stack may be small, and has the usual call's room.
        if count < FEW { filled::<FEW>(argument, list, start) } else { filled::<ARGUMENTS>(argument, list, start) }
    }

    const FEW: usize = 64;

    #[inline(never)]
    fn filled<const N: usize>(
        argument: impl Fn(usize) -> Text,
        list: List,
        start: impl FnOnce(List, List) -> c_int,
    ) -> c_int {
        let mut room = [null(); N];
        for (number, place) in room.iter_mut().enumerate() {
            *place = argument(number);
            if place.is_null() {
                break;
            }
        }
        start(room.as_ptr(), list)
    }

    unsafe extern "C" fn list_path(path: Text, registers: List, stack: List) -> c_int {
        // SAFETY: the arguments are those of the call, the last of which is null.
        unsafe { listed(registers, stack, false, |arguments, list| execve(path, arguments, list)) }
    }

    unsafe extern "C" fn list_path_and_variables(path: Text, registers: List, stack: List) -> c_int {
        // SAFETY: the arguments are those of the call: a null is followed by the variables.
        unsafe { listed(registers, stack, true, |arguments, list| execve(path, arguments, list)) }
    }

    unsafe extern "C" fn list_name(name: Text, registers: List, stack: List) -> c_int {
        // SAFETY: the arguments are those of the call, the last of which is null.
        unsafe { listed(registers, stack, false, |arguments, list| execvpe(name, arguments, list)) }
    }

    /// Defines a function with any number of arguments: it puts those in registers on the stack, and passes on where they
    /// are.
    macro_rules! variadic {
        ($($name:ident => $target:ident;)*) => {$(
            #[unsafe(naked)]
            #[cfg_attr(preload, unsafe(no_mangle))]
            extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "endbr64",
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    ".cfi_adjust_cfa_offset 40",
                    "mov rsi, rsp",
                    "lea rdx, [rsp + 48]",
                    "call {target}",
                    "add rsp, 40",
                    ".cfi_adjust_cfa_offset -40",
                    "ret",
                    ".cfi_endproc",
                    target = sym $target
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "stp x29, x30, [sp, #-80]!",
                    ".cfi_adjust_cfa_offset 80",
                    ".cfi_offset 29, -80",
                    ".cfi_offset 30, -72",
                    "mov x29, sp",
                    "stp x1, x2, [sp, #16]",
                    "stp x3, x4, [sp, #32]",
                    "stp x5, x6, [sp, #48]",
                    "str x7, [sp, #64]",
                    "add x1, sp, #16",
                    "add x2, sp, #80",
                    "bl {target}",
                    "ldp x29, x30, [sp], #80",
                    ".cfi_adjust_cfa_offset -80",
                    "ret",
                    ".cfi_endproc",
                    target = sym $target
                );
            }
        )*};
    }
    variadic! {
        execl => list_path;
        execle => list_path_and_variables;
        execlp => list_name;
    }
}
