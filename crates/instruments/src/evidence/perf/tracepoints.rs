//! The tracepoints of interrupts and softirqs: which there are, and what their data says.

use std::collections::BTreeMap;
use std::io;

use super::record::{u16_at, u32_at};
use super::tracefs::Tracefs;
use crate::evidence::names::{HandlerKind, Names};

/// What a tracepoint's data says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// As in `irq_vectors/local_timer_entry`.
    pub name: String,
    /// Under which number it is opened, and stands in its data.
    pub id: u16,
    edge: Edge,
    subject: Subject,
}

/// Which end of a handler it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Entry,
    /// Of a handler whose end is not reported.
    LoneEntry,
    Exit,
}

/// Which handler it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    /// Always this one.
    Vector(String),
    /// The device interrupt whose number stands here; its name stands there, in the entry's data only.
    Device { number_at: usize, name_at: Option<usize> },
    /// The softirq whose number stands here.
    Softirq { number_at: usize },
}

/// One end of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub handler: u32,
    pub entry: bool,
    /// No exit will be reported.
    pub lone: bool,
}

/// In the order of the kernel's numbers.
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// All that this kernel has.
///
/// # Errors
/// If `tracefs` cannot be read.
pub(super) fn list() -> io::Result<Vec<Tracepoint>> {
    let tracefs = Tracefs::open()?;
    let irq = ["irq/irq_handler_entry", "irq/irq_handler_exit", "irq/softirq_entry", "irq/softirq_exit"];
    // Only x86 has these.
    let vectors = tracefs.names("events/irq_vectors").unwrap_or_default();
    let vectors = vectors.iter().filter(|name| name.ends_with("_entry") || name.ends_with("_exit"));
    let names = irq.iter().map(|&name| name.to_owned()).chain(vectors.map(|name| format!("irq_vectors/{name}")));
    names.map(|name| read(&tracefs, name)).collect()
}

fn read(tracefs: &Tracefs, name: String) -> io::Result<Tracepoint> {
    let unreadable = |what: &str| io::Error::other(format!("tracefs: events/{name}/{what} is not understood"));
    let id = tracefs.text(&format!("events/{name}/id"))?.trim().parse().map_err(|_| unreadable("id"))?;
    let format = tracefs.text(&format!("events/{name}/format"))?;
    let edge = if name.ends_with("_exit") { Edge::Exit } else { Edge::Entry };
    let subject = subject(&name, &format).ok_or_else(|| unreadable("format"))?;
    Ok(Tracepoint { id, edge, subject, name })
}

fn subject(name: &str, format: &str) -> Option<Subject> {
    let (group, point) = name.split_once('/')?;
    match (group, point) {
        ("irq", "softirq_entry" | "softirq_exit") => Some(Subject::Softirq { number_at: offset_of(format, "vec")? }),
        ("irq", _) => {
            Some(Subject::Device { number_at: offset_of(format, "irq")?, name_at: offset_of(format, "name") })
        }
        _ => Some(Subject::Vector(vector(point).to_owned())),
    }
}

fn vector(point: &str) -> &str {
    point.trim_end_matches("_entry").trim_end_matches("_exit")
}

/// Where a field lies: `	field:int irq;	offset:8;	size:4;	signed:1;`.
fn offset_of(format: &str, field: &str) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let name = parts.next()?.split_whitespace().last()?;
        let offset = parts.next()?.strip_prefix("offset:")?;
        if name == field { offset.parse().ok() } else { None }
    })
}

/// Understands the data of the tracepoints that could be opened.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    points: BTreeMap<u16, Tracepoint>,
    /// The handlers of device interrupts, by the interrupt's number: only the entry tells the name.
    devices: BTreeMap<u32, u32>,
}

impl Decoder {
    pub fn new(opened: &[Tracepoint]) -> Self {
        let exits = |entry: &Tracepoint| {
            opened.iter().any(|exit| exit.edge == Edge::Exit && stem(&exit.name) == stem(&entry.name))
        };
        let points = opened.iter().map(|point| {
            let lone = point.edge == Edge::Entry && !exits(point);
            let edge = if lone { Edge::LoneEntry } else { point.edge };
            (point.id, Tracepoint { edge, ..point.clone() })
        });
        Self { points: points.collect(), devices: BTreeMap::new() }
    }

    /// What one sample says; `None` if it is not one of ours, or cut short.
    pub fn decode(&mut self, raw: &[u8], names: &mut Names) -> Option<Report> {
        let point = self.points.get(&u16_at(raw, 0)?)?;
        let handler = match &point.subject {
            Subject::Vector(name) => names.handler(HandlerKind::Interrupt, name),
            Subject::Softirq { number_at } => {
                let number = u32_at(raw, *number_at)? as usize;
                names.handler(HandlerKind::Softirq, SOFTIRQS.get(number).copied().unwrap_or("unknown"))
            }
            Subject::Device { number_at, name_at } => {
                let number = u32_at(raw, *number_at)?;
                let name = name_at.and_then(|at| located_text(raw, at));
                *self.devices.entry(number).or_insert_with(|| {
                    let name = name.map_or_else(|| format!("irq {number}"), str::to_owned);
                    names.handler(HandlerKind::Interrupt, &name)
                })
            }
        };
        Some(Report { handler, entry: point.edge != Edge::Exit, lone: point.edge == Edge::LoneEntry })
    }
}

fn stem(name: &str) -> &str {
    name.trim_end_matches("_entry").trim_end_matches("_exit")
}

/// A text elsewhere in the data: at `at` stand its offset (low half) and its length.
fn located_text(raw: &[u8], at: usize) -> Option<&str> {
    let place = u32_at(raw, at)?;
    let bytes = raw.get((place & 0xffff) as usize..)?;
    std::ffi::CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok().filter(|name| !name.is_empty())
}
