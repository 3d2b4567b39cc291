//! The BPF program that writes a sample for each hit of a probe.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The program, and the map with the rings that it writes into.
pub struct Writer {
    program: OwnedFd,
    /// The kernel takes the rings out of the map when this is closed.
    _map: OwnedFd,
}

/// Commands of bpf(2), and kinds of maps and programs.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEMENT: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const PERF_EVENT_ARRAY: u32 = 4;
const KPROBE: u32 = 2;

/// The kernel grants the function that writes samples to programs with a licence that is compatible with its own.
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    most_elements: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u64,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// Makes an instruction of the code, both registers, and a number.
const fn instruction(code: u8, to: u8, from: u8, number: i32) -> u64 {
    code as u64 | (to as u64) << 8 | (from as u64) << 12 | (number as u32 as u64) << 32
}

impl Writer {
    /// Loads the program. It writes into the ring of the CPU on which it runs; `rings` has the descriptor of each.
    ///
    /// # Errors
    /// The kernel refuses: `EPERM` without `CAP_BPF` and `CAP_PERFMON`, `ENOSYS` without BPF.
    pub fn open(rings: impl Iterator<Item = (usize, RawFd)> + Clone) -> io::Result<Self> {
        let most_elements = rings.clone().map(|(cpu, _)| cpu as u32 + 1).max().unwrap_or(1);
        let create = MapCreate { kind: PERF_EVENT_ARRAY, key_bytes: 4, value_bytes: 4, most_elements, flags: 0 };
        // SAFETY: a map is created from numbers alone, and its descriptor is new.
        let map = unsafe { OwnedFd::from_raw_fd(bpf(MAP_CREATE, &create)?) };
        for (cpu, ring) in rings {
            let (key, value) = (cpu as u32, ring);
            let [key, value] = [(&raw const key).addr() as u64, (&raw const value).addr() as u64];
            let update = MapUpdate { map: map.as_raw_fd() as u64, key, value, flags: 0 };
            // SAFETY: the addresses are those of a key and a value of four bytes each, which outlive the call.
            unsafe { bpf(MAP_UPDATE_ELEMENT, &update) }?;
        }
        let program = [
            // Eight bytes on the stack are the data of the sample, whose registers say all.
            instruction(0x7a, 10, 0, 0) | (-8_i16 as u16 as u64) << 16,
            // perf_event_output(context, map, BPF_F_CURRENT_CPU, stack - 8, 8)
            instruction(0x18, 2, 1, map.as_raw_fd()),
            0,
            instruction(0xb4, 3, 0, -1),
            instruction(0xbf, 4, 10, 0),
            instruction(0x07, 4, 0, -8),
            instruction(0xb7, 5, 0, 8),
            instruction(0x85, 0, 0, 25),
            // return 0: the event of the probe itself notes nothing.
            instruction(0xb7, 0, 0, 0),
            instruction(0x95, 0, 0, 0),
        ];
        let load = ProgramLoad {
            kind: KPROBE,
            count: program.len() as u32,
            instructions: program.as_ptr().expose_provenance() as u64,
            licence: LICENCE.as_ptr().expose_provenance() as u64,
            log_level: 0,
            log_bytes: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
        };
        // SAFETY: the addresses are those of `count` instructions and of a text, which the kernel reads. The descriptor is
        // new.
        let program = unsafe { OwnedFd::from_raw_fd(bpf(PROGRAM_LOAD, &load)?) };
        Ok(Self { program, _map: map })
    }

    pub fn program(&self) -> RawFd {
        self.program.as_raw_fd()
    }
}

/// Calls bpf(2).
///
/// # Safety
/// The addresses in `attributes` are valid for what the kernel reads there for this command.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the kernel reads as many bytes of `attributes` as it has; the caller answers for the addresses in them.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) };
    RawFd::try_from(result).ok().filter(|result| *result >= 0).ok_or_else(io::Error::last_os_error)
}
