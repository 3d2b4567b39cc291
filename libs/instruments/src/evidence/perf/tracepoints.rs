//! The tracepoints of interrupts and softirqs: the available ones, and the meaning of their data.

use super::record::{u16_at, u32_at};
use crate::evidence::names::{HandlerKind, Names};
use rustix::fs::{Dir, Mode, OFlags, open, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

/// The meaning of a tracepoint's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// Name, as in `irq_vectors/local_timer_entry`.
    pub name: String,
    /// Number by which it is opened, and which its data contain.
    pub id: u16,
    edge: Edge,
    subject: Subject,
}

/// The end of a handler that a tracepoint reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Entry,
    /// The begin of a handler whose end is not reported.
    LoneEntry,
    Exit,
}

/// The handler that a tracepoint reports.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    /// Always this handler.
    Vector(String),
    /// The device interrupt with the number at `number_at`, and the name at `name_at`, which only the entry's data
    /// contain.
    Device { number_at: usize, name_at: Option<usize> },
    /// The softirq with the number at `number_at`.
    Softirq { number_at: usize },
}

/// One end of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub handler: u32,
    pub entry: bool,
    /// Whether no exit will be reported.
    pub lone: bool,
}

/// Names in the order of the kernel's numbers.
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// Returns all tracepoints of this kernel.
///
/// # Errors
///
/// Returns an error if `tracefs` cannot be read.
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
    let unreadable = |subject: &str| io::Error::other(format!("tracefs: events/{name}/{subject} is not understood"));
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

/// A decoder of the data of the opened tracepoints.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    points: BTreeMap<u16, Tracepoint>,
    /// Handlers of device interrupts, by the interrupt's number: only the entry contains the name.
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

    /// Returns the content of one sample; `None` if it is from another tracepoint, or truncated.
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
                match (self.devices.get(&number), name) {
                    (Some(known), _) => *known,
                    (None, Some(name)) => {
                        let handler = names.handler(HandlerKind::Interrupt, name);
                        self.devices.insert(number, handler);
                        handler
                    }
                    // An exit does not contain the name; an entry will.
                    (None, None) => names.handler(HandlerKind::Interrupt, &format!("irq {number}")),
                }
            }
        };
        Some(Report { handler, entry: point.edge != Edge::Exit, lone: point.edge == Edge::LoneEntry })
    }
}

fn stem(name: &str) -> &str {
    name.trim_end_matches("_entry").trim_end_matches("_exit")
}

/// Returns a text elsewhere in the data: `at` is the position of its offset (low half) and its length.
fn located_text(raw: &[u8], at: usize) -> Option<&str> {
    let place = u32_at(raw, at)?;
    let bytes = raw.get((place & 0xffff) as usize..)?;
    std::ffi::CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok().filter(|name| !name.is_empty())
}

// The kernel's list of tracepoints: `tracefs`.
//
// It is often not mounted. Root can mount it where no process sees it: a detached mount ends with its file
// descriptor.

/// An open `tracefs`.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: OwnedFd,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Tracefs {
    /// Opens it where it is mounted, otherwise in a private mount.
    ///
    /// # Errors
    ///
    /// Returns the error of the private mount if it is not mounted, and that of the mounted one if this process may
    /// not read it.
    pub fn open() -> io::Result<Self> {
        let mut refused = None;
        for path in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
            match open(path, DIRECTORY, Mode::empty()).map(|root| Self { root }) {
                // An empty directory is the usual mount point.
                Ok(tracefs) => match tracefs.directory("events") {
                    Ok(_) => return Ok(tracefs),
                    Err(error) => {
                        refused = refused.or(Some(error).filter(|error| error.kind() != io::ErrorKind::NotFound))
                    }
                },
                Err(error) => {
                    refused = refused
                        .or(Some(error.into()).filter(|error: &io::Error| error.kind() != io::ErrorKind::NotFound))
                }
            }
        }
        Self::mount().map_err(|error| refused.unwrap_or(error))
    }

    fn mount() -> io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOEXEC | MountAttrFlags::MOUNT_ATTR_NOSUID;
        Ok(Self { root: fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)? })
    }

    fn directory(&self, path: &str) -> io::Result<OwnedFd> {
        Ok(openat(&self.root, path, DIRECTORY, Mode::empty())?)
    }

    /// Returns the text of a file.
    pub fn text(&self, path: &str) -> io::Result<String> {
        let file = openat(&self.root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Returns the names in a directory, sorted.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.directory(path)?)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// A tracepoint of the kernel, with its number and the positions of its fields.
#[derive(Clone, Debug)]
pub struct TracepointFormat {
    /// Number by which it is opened, and which its data contain.
    pub id: u16,
    format: String,
}

impl TracepointFormat {
    /// Returns the tracepoint of this name, as in `sched/sched_waking`.
    ///
    /// # Errors
    ///
    /// Returns an error if `tracefs` cannot be read, or has no tracepoint of this name.
    pub fn of(name: &str) -> io::Result<Self> {
        let tracefs = Tracefs::open()?;
        let id = tracefs.text(&format!("events/{name}/id"))?;
        let id =
            id.trim().parse().map_err(|_| io::Error::other(format!("tracefs: events/{name}/id is not a number")))?;
        Ok(Self { id, format: tracefs.text(&format!("events/{name}/format"))? })
    }

    /// Returns the position of a field in its data.
    ///
    /// # Errors
    ///
    /// Returns an error if it has no such field.
    pub fn offset_of(&self, field: &str) -> io::Result<usize> {
        offset_of(&self.format, field).ok_or_else(|| io::Error::other(format!("a tracepoint without {field}")))
    }
}

/// Returns the position of a field, from a line such as `field:int irq; offset:8; size:4; signed:1;` with tabs
/// between.
pub(super) fn offset_of(format: &str, field: &str) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let name = parts.next()?.split_whitespace().last()?;
        let offset = parts.next()?.strip_prefix("offset:")?;
        if name == field { offset.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::names::Handler;

    const DEVICE: &str = "name: irq_handler_entry\nID: 150\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"irq=%d\", REC->irq\n";

    fn point(name: &str, id: u16, format: &str) -> Tracepoint {
        let edge = if name.ends_with("_exit") { Edge::Exit } else { Edge::Entry };
        Tracepoint { name: name.into(), id, edge, subject: subject(name, format).unwrap() }
    }

    fn data(id: u16, words: &[u32], text: &[u8]) -> Vec<u8> {
        let mut bytes = id.to_ne_bytes().to_vec();
        bytes.extend([0; 6]);
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(text);
        bytes
    }

    #[test]
    fn a_device_interrupt_has_its_name_at_its_exit_too() {
        let mut names = Names::default();
        let exit = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n";
        let mut decoder =
            Decoder::new(&[point("irq/irq_handler_entry", 150, DEVICE), point("irq/irq_handler_exit", 149, exit)]);
        let entry = data(150, &[36, 4 << 16 | 16], b"eth\0");
        let entered = decoder.decode(&entry, &mut names).unwrap();
        let exited = decoder.decode(&data(149, &[36, 1], b""), &mut names).unwrap();
        assert_eq!((entered.handler, entered.entry, entered.lone), (exited.handler, true, false));
        assert!(!exited.entry);
        let device = Handler { kind: HandlerKind::Interrupt, name: "eth".into() };
        assert_eq!(names.handler_of(entered.handler), Some(&device));
        for length in 0..entry.len() {
            // A truncated entry may lose its name, but is never decoded as another one.
            let report = Decoder::new(&[]).decode(&entry[..length], &mut names);
            assert_eq!(report, None);
            let report = decoder.decode(&entry[..length], &mut names);
            assert!(report.is_none() || report == Some(entered));
        }
    }

    #[test]
    fn a_softirq_goes_by_its_number_and_a_vector_by_its_tracepoint() {
        let mut names = Names::default();
        let softirq = "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n";
        let points = [point("irq/softirq_entry", 1, softirq), point("irq_vectors/irq_work_entry", 2, "")];
        let mut decoder = Decoder::new(&points);
        let report = decoder.decode(&data(1, &[7], b""), &mut names).unwrap();
        assert_eq!(names.handler_of(report.handler).unwrap().name, "sched");
        let report = decoder.decode(&data(1, &[77], b""), &mut names).unwrap();
        assert_eq!(names.handler_of(report.handler).unwrap().name, "unknown");
        // The end of this handler is not reported.
        let report = decoder.decode(&data(2, &[], b""), &mut names).unwrap();
        assert_eq!((names.handler_of(report.handler).unwrap().name.as_str(), report.lone), ("irq_work", true));
    }
}
