//! The library's own beginning and end.

use super::external::dlerror;
use super::local;
use super::process::{begin, note_map};
use super::what_if::ends;
use super::{cost, next, slot, thread_word};
use crate::layout::Header;
use crate::shared::exec;
use core::sync::atomic::Ordering::Relaxed;

#[cfg_attr(preload, used)]
#[cfg_attr(preload, unsafe(link_section = ".init_array"))]
static BEGIN: extern "C" fn() = at_load;

#[cfg_attr(preload, used)]
#[cfg_attr(preload, unsafe(link_section = ".fini_array"))]
static END: extern "C" fn() = at_exit;

extern "C" fn at_load() {
    next::find_all();
    exec::prepare();
    let local = local::local();
    if local.level.load(Relaxed) == 0 {
        begin(local, true);
    }
    if let (Some(region), 1 | 2) = (local::region(), local.level.load(Relaxed)) {
        cost::measure(region);
    }
    // The program must not see errors about functions that do not exist.
    // SAFETY: the call takes nothing.
    unsafe { dlerror() };
}

/// Notes the objects loaded since the beginning, at the end; a program that ends in another way does not come here.
extern "C" fn at_exit() {
    let local = local::local();
    let (Some(region), 1 | 2 | Header::WHAT_IF | Header::CONFIRM) = (local::region(), local.level.load(Relaxed)) else {
        return;
    };
    if let Some(process) = region.processes.get(local.process.load(Relaxed) as usize)
        && !local::is_confined()
    {
        note_map(process);
    }
    if local::is_what_if() {
        ends::process_ended(region, local);
    }
    // SAFETY: the pointer is null or within the memory, which stays mapped.
    if let Some(thread) = unsafe { thread_word::get().as_ref() } {
        slot::give_back(region, thread);
    }
}
