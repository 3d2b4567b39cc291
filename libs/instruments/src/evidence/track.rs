//! From reports to an unbroken account of one CPU: at each moment one task, and at most one handler inside it.

/// A part of a track in which nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks. A handler whose end is not reported has a segment of no length.
    pub end: u64,
    /// Whose time it was.
    pub who: Who,
    /// The innermost handler that ran inside it, by number.
    pub handler: Option<u32>,
    /// A handler began here; the other segments of a handler continue one that another handler interrupted.
    pub begins: bool,
    /// How the task left the CPU at the end of this segment, if it did.
    pub switch_out: Option<SwitchOut>,
}

/// Who has the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// This thread.
    Task(u32),
    /// The idle task.
    Idle,
    /// Some thread or none, but not the one that is recorded.
    Other,
    /// Reports were lost.
    Unknown,
}

/// How a task leaves the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchOut {
    /// It wanted to go on.
    Preempted,
    /// It had nothing to do.
    Blocked,
}

/// One CPU, or one thread where no more may be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// The CPU; `None` for the record of one thread, wherever it ran.
    pub cpu: Option<usize>,
    /// All of the stretch, in order, without holes or overlaps.
    pub segments: Vec<Segment>,
    /// Reports that the kernel had no room for.
    pub lost: u64,
    /// Ticks that the lost reports leave unknown.
    pub blind: u64,
}

impl Who {
    fn of(task: Option<u32>) -> Self {
        match task {
            Some(0) => Self::Idle,
            Some(ENDING) => Self::Other,
            Some(task) => Self::Task(task),
            None => Self::Other,
        }
    }
}

impl Track {
    /// The account of `start..end` from the events of one CPU. Events outside are taken as at its edges.
    pub fn of(cpu: Option<usize>, start: u64, end: u64, events: &[Event]) -> Self {
        let mut in_order = events.to_vec();
        // An interrupt can come between taking the time of a report and storing it.
        in_order.sort_by_key(|event| event.at);
        let mut writer = Writer {
            track: Self { cpu, segments: Vec::with_capacity(in_order.len() + 1), lost: 0, blind: 0 },
            at: start,
            who: in_order.iter().find_map(before).unwrap_or(Who::Unknown),
            stack: Vec::new(),
            begins: false,
        };
        for event in &in_order {
            writer.take(Event { at: event.at.clamp(start, end.max(start)), ..*event });
        }
        writer.advance(end.max(start), None);
        writer.track
    }
}

/// Who had the CPU before this event.
fn before(event: &Event) -> Option<Who> {
    match event.kind {
        EventKind::Left { task, .. } | EventKind::Entered { task, .. } | EventKind::Exited { task, .. } => {
            Some(Who::of(Some(task)))
        }
        EventKind::Took { previous, .. } => Some(Who::of(previous)),
        EventKind::Lost { .. } => None,
    }
}

struct Writer {
    track: Track,
    /// Up to where the account is written.
    at: u64,
    who: Who,
    /// Handlers that have not ended, the innermost last.
    stack: Vec<u32>,
    /// The innermost handler has no segment yet.
    begins: bool,
}

impl Writer {
    fn take(&mut self, event: Event) {
        match event.kind {
            EventKind::Left { task, next, preempted } => {
                self.correct(event.at, task);
                self.leave_handlers(event.at, 0);
                let switch_out = if preempted { SwitchOut::Preempted } else { SwitchOut::Blocked };
                self.advance(event.at, Some(switch_out));
                self.who = Who::of(next);
            }
            EventKind::Took { task, previous } => {
                if self.who == Who::Unknown {
                    self.who = Who::of(previous);
                }
                self.leave_handlers(event.at, 0);
                self.advance(event.at, None);
                self.who = Who::of(Some(task));
            }
            EventKind::Entered { task, handler } => {
                self.correct(event.at, task);
                self.advance(event.at, None);
                self.stack.push(handler);
                self.begins = true;
            }
            EventKind::Exited { task, handler } => {
                self.correct(event.at, task);
                self.exit(event.at, handler);
            }
            EventKind::Lost { reports } => self.lose(event.at, reports),
        }
    }

    /// A report names the task it came in: if that is not the one thought of, the change between went unreported.
    fn correct(&mut self, at: u64, task: u32) {
        let who = Who::of(Some(task));
        if task == ENDING {
            return;
        }
        if self.who == Who::Unknown {
            // Since the reports came back.
            self.who = who;
        } else if self.who != who {
            self.advance(at, None);
            self.who = who;
        }
    }

    fn exit(&mut self, at: u64, handler: u32) {
        match self.stack.iter().rposition(|&open| open == handler) {
            Some(depth) => self.leave_handlers(at, depth),
            // It began before the first report: all since then was inside it.
            None if self.stack.is_empty() && self.track.segments.is_empty() => {
                self.stack.push(handler);
                self.leave_handlers(at, 0);
            }
            None => {}
        }
    }

    /// Ends the handlers from `depth` inwards. Those inside the outermost ended unreported, so they end at once.
    fn leave_handlers(&mut self, at: u64, depth: usize) {
        if self.stack.len() > depth {
            if self.stack.len() > depth + 1 && self.begins {
                // No segment of no length is lost.
                self.advance(self.at, None);
            }
            let unreported = self.stack.len() - depth - 1;
            self.stack.truncate(self.stack.len() - unreported);
            self.advance(at, None);
            self.stack.truncate(depth);
        }
    }

    fn lose(&mut self, at: u64, reports: u64) {
        self.stack.clear();
        self.begins = false;
        self.who = Who::Unknown;
        self.track.lost += reports;
        self.track.blind += at - self.at;
        self.advance(at, None);
        self.who = Who::Unknown;
    }

    /// Writes the account up to `at`.
    fn advance(&mut self, at: u64, switch_out: Option<SwitchOut>) {
        if at > self.at || self.begins || switch_out.is_some() {
            let handler = self.stack.last().copied();
            let segment = Segment { start: self.at, end: at, who: self.who, handler, begins: self.begins, switch_out };
            self.track.segments.push(segment);
        }
        self.begins = false;
        self.at = at;
    }
}

/// One report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ticks.
    pub at: u64,
    /// What.
    pub kind: EventKind,
}

/// The number of a task that is ending and has given up its own: the task that has the CPU.
pub(super) const ENDING: u32 = u32::MAX;

/// Events on a CPU. Tasks are thread ids, 0 for the idle task; handlers are numbers from
/// [`Names::handler`](super::Names::handler).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task left the CPU.
    Left {
        /// Who.
        task: u32,
        /// Who takes it; `None` where that is not reported.
        next: Option<u32>,
        /// It wanted to go on.
        preempted: bool,
    },
    /// A task took the CPU.
    Took {
        /// Who.
        task: u32,
        /// Who had it; `None` where that is not reported.
        previous: Option<u32>,
    },
    /// A handler began.
    Entered {
        /// Inside this task's time.
        task: u32,
        /// Which handler.
        handler: u32,
    },
    /// A handler ended.
    Exited {
        /// Inside this task's time.
        task: u32,
        /// Which handler.
        handler: u32,
    },
    /// The kernel found no room for reports since the one before.
    Lost {
        /// How many.
        reports: u64,
    },
}
