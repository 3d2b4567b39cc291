//! The contiguous use of one CPU, from its events: at each time one task, and at most one handler inside it.

/// A part of a track in which nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Start, in ticks.
    pub start: u64,
    /// End, in ticks. A handler whose end is not reported has a segment of length zero.
    pub end: u64,
    /// Owner of the time.
    pub who: Who,
    /// Innermost handler that ran inside it, by number.
    pub handler: Option<u32>,
    /// Whether a handler began here; the other segments of a handler continue one that another handler interrupted.
    pub begins: bool,
    /// Way in which the task left the CPU at the end of this segment, if it did.
    pub switch_out: Option<SwitchOut>,
}

/// The owner of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// This thread.
    Task(u32),
    /// The idle task.
    Idle,
    /// Any thread or none, but not the recorded one.
    Other,
    /// Unknown, because events were lost.
    Unknown,
}

/// The ways in which a task leaves the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchOut {
    /// It wanted to continue.
    Preempted,
    /// It had nothing to do.
    Blocked,
}

/// One CPU, or one thread if no more may be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// The CPU; `None` for the trace of one thread, wherever it ran.
    pub cpu: Option<usize>,
    /// Segments of the whole period, in order, without holes or overlaps.
    pub segments: Vec<Segment>,
    /// Number of events for which the kernel had no room.
    pub lost: u64,
    /// Ticks without data because of lost events.
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
    /// Returns the track of `start..end` from the events of one CPU. Events outside are moved to its edges.
    pub fn of(cpu: Option<usize>, start: u64, end: u64, events: &[Event]) -> Self {
        let mut in_order = events.to_vec();
        // An interrupt can occur between taking the time of an event and storing it.
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

/// Returns the owner of the CPU before this event.
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
    /// Time up to which the track is written.
    at: u64,
    who: Who,
    /// Handlers that have not ended, the innermost last.
    stack: Vec<u32>,
    /// Whether the innermost handler has no segment yet.
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

    /// Corrects the owner: an event names the task in which it occurred, and if that differs from the current one,
    /// the switch in between was not reported.
    fn correct(&mut self, at: u64, task: u32) {
        let who = Who::of(Some(task));
        if task == ENDING {
            return;
        }
        if self.who == Who::Unknown {
            // Events are known again from here.
            self.who = who;
        } else if self.who != who {
            self.advance(at, None);
            self.who = who;
        }
    }

    fn exit(&mut self, at: u64, handler: u32) {
        match self.stack.iter().rposition(|&open| open == handler) {
            Some(depth) => self.leave_handlers(at, depth),
            // The handler began before the first event, so the whole time since then was inside it.
            None if self.stack.is_empty() && self.track.segments.is_empty() => {
                self.stack.push(handler);
                self.leave_handlers(at, 0);
            }
            None => {}
        }
    }

    /// Ends the handlers from `depth` inwards. Those inside the outermost ended without an event, so they end at
    /// once.
    fn leave_handlers(&mut self, at: u64, depth: usize) {
        if self.stack.len() > depth {
            if self.stack.len() > depth + 1 && self.begins {
                // Segments of length zero are kept.
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

    /// Writes the track up to `at`.
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

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time, in ticks.
    pub at: u64,
    /// Kind of event.
    pub kind: EventKind,
}

/// Number of a task that is ending and has given up its own: the task that has the CPU.
pub(super) const ENDING: u32 = u32::MAX;

/// The events on a CPU. Tasks are thread ids, 0 for the idle task; handlers are numbers from
/// [`Names::handler`](super::Names::handler).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task left the CPU.
    Left {
        /// Task that left.
        task: u32,
        /// Task that takes the CPU; `None` if that is not reported.
        next: Option<u32>,
        /// Whether it wanted to continue.
        preempted: bool,
    },
    /// A task took the CPU.
    Took {
        /// Task that took it.
        task: u32,
        /// Task that had it; `None` if that is not reported.
        previous: Option<u32>,
    },
    /// A handler began.
    Entered {
        /// Task during whose time it began.
        task: u32,
        /// Number of the handler.
        handler: u32,
    },
    /// A handler ended.
    Exited {
        /// Task during whose time it ended.
        task: u32,
        /// Number of the handler.
        handler: u32,
    },
    /// The kernel had no room for events since the previous one.
    Lost {
        /// Number of lost events.
        reports: u64,
    },
}
