//! `contend_trace_label`: the program names the request that the calling thread works for.
//!
//! A thread works for one request at a time: the next name, or none, ends it. A name is its bytes, not their address.

use super::clock::now;
use super::me::{Me, me};
use crate::layout::{LABEL_BYTES, LABELS, Label, Region};
use core::ffi::c_char;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Begins a request of this name, and ends the one before. Null or an empty name only ends it.
#[cfg_attr(preload, unsafe(no_mangle))]
unsafe extern "C" fn contend_trace_label(name: *const c_char) {
    let Some(me) = me() else { return };
    // SAFETY: the program gives null, or a text that ends with a NUL.
    let bytes = unsafe { Bytes::of(name) };
    me.thread.busy(|| {
        let at = now();
        me.region.end_request(me.thread, at);
        if !bytes.is_empty() {
            begin(me, &bytes, at);
        }
    });
}

/// The bytes of a name that count.
struct Bytes {
    first: *const u8,
    length: usize,
    is_cut: bool,
}

impl Bytes {
    /// # Safety
    /// The name is null, or a text that ends with a NUL and outlives the value.
    unsafe fn of(name: *const c_char) -> Self {
        let (first, mut length) = (name.cast::<u8>(), 0);
        if first.is_null() {
            return Self { first, length, is_cut: false };
        }
        // SAFETY: no byte before this one was the NUL, so it is within the text.
        while length < LABEL_BYTES && unsafe { first.add(length).read() } != 0 {
            length += 1;
        }
        // SAFETY: of a text that fills the room no byte was the NUL, so that is the next byte, or behind it.
        let is_cut = length == LABEL_BYTES && unsafe { first.add(length).read() } != 0;
        Self { first, length, is_cut }
    }

    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn iter(&self) -> impl Iterator<Item = u8> {
        // SAFETY: the place is below the length, so the byte is within the text.
        (0..self.length).map(|place| unsafe { self.first.add(place).read() })
    }

    /// Returns the hash FNV-1a, which is not 0: two names have the same one with a probability of 2^-63.
    fn key(&self) -> u64 {
        let hash = self
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        hash | 1
    }
}

fn begin(me: Me, bytes: &Bytes, at: u64) {
    let request = &me.thread.request;
    request.began.store(at, Relaxed);
    request.lock_ticks.store(0, Relaxed);
    request.signal_ticks.store(0, Relaxed);
    request.label.store(place_of(me.region, bytes) as u32 + 1, Relaxed);
}

/// Returns the place of a label: its own, a new one, or the last, which all share that find no room.
fn place_of(region: &Region, bytes: &Bytes) -> usize {
    let key = bytes.key();
    let first = (key >> 32) as usize;
    for place in (0..LABELS).map(|turn| (first + turn) % LABELS) {
        let label = &region.labels[place];
        match label.key.load(Acquire) {
            there if there == key => return place,
            0 => match label.key.compare_exchange(0, key, AcqRel, Acquire) {
                Ok(_) => {
                    describe(label, bytes);
                    return place;
                }
                Err(other) if other == key => return place,
                Err(_) => {}
            },
            _ => {}
        }
    }
    LABELS
}

fn describe(label: &Label, bytes: &Bytes) {
    label.name.iter().zip(bytes.iter()).for_each(|(to, byte)| to.store(byte, Relaxed));
    let cut = if bytes.is_cut { Label::CUT } else { 0 };
    label.length.store(bytes.length as u32 | cut, Release);
}
