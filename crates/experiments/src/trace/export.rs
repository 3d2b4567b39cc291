//! The waits in the forms of other programs.
//!
//! Perfetto: protocol buffers of `TracePacket`, with a track for each thread or goroutine, a slice for each wait, and a flow
//! from the one that released the lock. Field numbers are those of `protos/perfetto/trace/` (trace_packet, track_event,
//! track_descriptor, thread_descriptor, debug_annotation).
//!
//! Folded stacks, from which flame graphs are drawn: a line each with the lock, the place that waited for it, and the
//! holder; then the time in µs.

use super::flags::Form;
use super::measure::NamedWait;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the content of the file.
pub fn content(form: Form, waits: &[NamedWait]) -> Vec<u8> {
    match form {
        Form::Folded => text(waits).into_bytes(),
        Form::Perfetto => trace(waits),
    }
}

const TRACE_PACKET: u32 = 1;
const PACKET_TIMESTAMP: u32 = 8;
const PACKET_SEQUENCE: u32 = 10;
const PACKET_TRACK_EVENT: u32 = 11;
const PACKET_SEQUENCE_FLAGS: u32 = 13;
const PACKET_TRACK_DESCRIPTOR: u32 = 60;
const DESCRIPTOR_UUID: u32 = 1;
const DESCRIPTOR_NAME: u32 = 2;
const DESCRIPTOR_THREAD: u32 = 4;
const THREAD_PID: u32 = 1;
const THREAD_TID: u32 = 2;
const THREAD_NAME: u32 = 5;
const EVENT_ANNOTATION: u32 = 4;
const EVENT_TYPE: u32 = 9;
const EVENT_TRACK: u32 = 11;
const EVENT_NAME: u32 = 23;
const EVENT_FLOW: u32 = 47;
const ANNOTATION_TEXT: u32 = 6;
const ANNOTATION_NAME: u32 = 10;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const CLEARED: u64 = 1;

/// A message as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        // It ends: the number has 64 bits.
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn message(self, field: u32, inner: &Self) -> Self {
        self.bytes(field, &inner.0)
    }
}

/// The thread or goroutine of a track.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Track {
    is_goroutine: bool,
    process: u32,
    number: u32,
}

impl Track {
    fn of(wait: &NamedWait, number: u32) -> Self {
        Self { is_goroutine: wait.are_goroutines, process: wait.process, number }
    }

    /// Returns the number of the track. Those of threads are the system's; goroutines of two processes have the same ones.
    fn id(self) -> u64 {
        let goroutine = 1 << 63 | u64::from(self.process) << 32;
        u64::from(self.number) | if self.is_goroutine { goroutine } else { 0 }
    }

    fn descriptor(self) -> Message {
        let Self { process, number, .. } = self;
        let track = Message::default().number(DESCRIPTOR_UUID, self.id());
        if self.is_goroutine {
            return track.bytes(
                DESCRIPTOR_NAME,
                format!("goroutine, number {number} by contend, of process {process}").as_bytes(),
            );
        }
        let thread = Message::default()
            .number(THREAD_PID, process.into())
            .number(THREAD_TID, number.into())
            .bytes(THREAD_NAME, format!("thread {number}").as_bytes());
        track.message(DESCRIPTOR_THREAD, &thread)
    }
}

/// Returns the whole file.
pub fn trace(waits: &[NamedWait]) -> Vec<u8> {
    let tracks: BTreeSet<Track> = waits.iter().flat_map(tracks_of).collect();
    let tracks =
        tracks.into_iter().map(|track| Message::default().message(PACKET_TRACK_DESCRIPTOR, &track.descriptor()));
    let mut events: Vec<(u64, Message)> =
        waits.iter().enumerate().flat_map(|(place, wait)| slice(place, wait)).collect();
    events.sort_by_key(|(at, _)| *at);
    let events = events
        .into_iter()
        .map(|(at, event)| Message::default().number(PACKET_TIMESTAMP, at).message(PACKET_TRACK_EVENT, &event));
    let packets = tracks.chain(events).enumerate().map(|(place, packet)| {
        let packet = packet.number(PACKET_SEQUENCE, SEQUENCE);
        if place == 0 { packet.number(PACKET_SEQUENCE_FLAGS, CLEARED) } else { packet }
    });
    packets.fold(Message::default(), |trace, packet| trace.message(TRACE_PACKET, &packet)).0
}

fn tracks_of(wait: &NamedWait) -> impl Iterator<Item = Track> {
    [Some(wait.thread), wait.releaser].into_iter().flatten().map(|number| Track::of(wait, number))
}

/// Returns the wait, and the moment of the release on the track of who released it.
fn slice(place: usize, wait: &NamedWait) -> Vec<(u64, Message)> {
    let at = |ns: f64| ns.max(0.0) as u64;
    let on = |kind: u64, number: u32| {
        Message::default().number(EVENT_TYPE, kind).number(EVENT_TRACK, Track::of(wait, number).id())
    };
    let note = |name: &str, text: &str| {
        Message::default().bytes(ANNOTATION_NAME, name.as_bytes()).bytes(ANNOTATION_TEXT, text.as_bytes())
    };
    let flow = place as u64 + 1;
    let title = if wait.in_vain { format!("{} (not acquired)", wait.lock) } else { wait.lock.clone() };
    let begin = on(SLICE_BEGIN, wait.thread)
        .bytes(EVENT_NAME, title.as_bytes())
        .message(EVENT_ANNOTATION, &note("at", &wait.site))
        .message(EVENT_ANNOTATION, &note("held by", wait.holder.as_deref().unwrap_or("unknown")));
    let mut events = vec![(at(wait.began), begin), (at(wait.ended), on(SLICE_END, wait.thread))];
    if let (Some(thread), Some(released)) = (wait.releaser.filter(|thread| *thread != wait.thread), wait.released) {
        let release = on(INSTANT, thread).bytes(EVENT_NAME, format!("releases {}", wait.lock).as_bytes());
        events.push((at(released), release.fixed(EVENT_FLOW, flow)));
        let had = on(INSTANT, wait.thread).bytes(EVENT_NAME, b"acquired").fixed(EVENT_FLOW, flow);
        events.push((at(wait.ended), had));
    }
    events
}

/// Returns the lines, in order of their names.
pub fn text(waits: &[NamedWait]) -> String {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for wait in waits {
        let holder = wait.holder.as_deref().map(|holder| format!("held by {holder}"));
        let frames = [Some(wait.lock.as_str()), Some(wait.site.as_str()), holder.as_deref()];
        let frames = frames.into_iter().flatten().map(written);
        *sums.entry(frames.collect::<Vec<String>>().join(";")).or_default() += wait.ended - wait.began;
    }
    sums.iter().map(|(stack, ns)| format!("{stack} {}\n", (ns / 1e3).round().max(1.0))).collect()
}

/// Returns a frame as one field of a line. A semicolon separates frames, and a line is a stack. Names come from files
/// of the watched program, so they can contain anything: control characters would be obeyed by a terminal that shows
/// the file.
fn written(frame: &str) -> String {
    let plain = |letter: char| match letter {
        ';' | '\n' => ':',
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    frame.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goroutines_have_tracks_apart_from_threads() {
        let wait = |are_goroutines, process| NamedWait {
            process,
            thread: 7,
            are_goroutines,
            began: 100.0,
            ended: 300.0,
            in_vain: false,
            releaser: None,
            released: None,
            lock: "cache".into(),
            site: "main.request".into(),
            holder: None,
        };
        let waits = [wait(false, 40), wait(true, 40), wait(true, 41)];
        let ids: BTreeSet<u64> = waits.iter().flat_map(tracks_of).map(Track::id).collect();
        assert_eq!(ids.len(), 3);
        let text = String::from_utf8_lossy(&trace(&waits)).into_owned();
        for name in ["thread 7", "number 7 by contend, of process 40", "number 7 by contend, of process 41"] {
            assert!(text.contains(name), "{name}");
        }
    }

    #[test]
    fn a_frame_has_no_control_characters_and_no_separators() {
        assert_eq!(super::written("a;b\nc\u{1b}[31m\r\u{9b}d é"), "a:b:c\u{fffd}[31m\u{fffd}\u{fffd}d é");
    }
}
