//! The explanation in English: one sentence, then a line for each thread, then what was not seen.

use crate::explanation::{Again, Class, Explanation, Finding, Gone, Member, Place, Unseen};
use crate::snapshot::{Channel, Language, Lock, Owner, Reason, Seen, Wait};
use blame::names::short;
use terminal::counted;

/// Lines of an explanation; and of them, those of threads.
const MOST_LINES: usize = 25;
const MOST_THREADS: usize = 14;
/// Links of a cycle, and addresses, that a sentence has.
const MOST_LINKS: usize = 4;

/// Returns the first word of a class.
pub fn class(class: Class) -> &'static str {
    match class {
        Class::Deadlock => "Deadlock",
        Class::Hang => "Hang",
        Class::NotHung => "Not hung",
        Class::Unknown => "Unknown",
    }
}

/// Returns the sentence with the verdict.
pub fn sentence(explanation: &Explanation) -> String {
    format!("{}: {}.", class(explanation.class), finding(&explanation.finding))
}

/// Returns all lines after the sentence.
pub fn lines(explanation: &Explanation) -> Vec<String> {
    let members = members(&explanation.finding);
    let groups = groups(members.iter().copied().chain(&explanation.others));
    let groups = &groups[..groups.len().min(MOST_THREADS)];
    let mut lines: Vec<String> = groups.iter().map(|(member, count)| line(member, *count)).collect();
    let more = explanation.threads.saturating_sub(groups.iter().map(|(_, count)| count).sum());
    if more > 0 && !lines.is_empty() {
        let kind = members.first().copied().or(explanation.others.first()).map_or("thread", kind);
        lines.push(format!("{} more.", counted(more, kind)));
    }
    lines.extend(inferences(&members));
    lines.extend(explanation.unseen.iter().map(unseen));
    lines.truncate(MOST_LINES - 1);
    lines
}

fn members(finding: &Finding) -> Vec<&Member> {
    match finding {
        Finding::Cycle { members }
        | Finding::OwnerGone { members, .. }
        | Finding::Pool { members, .. }
        | Finding::NoWaker { members }
        | Finding::Going { members }
        | Finding::NotSeen { members } => members.iter().collect(),
        Finding::SelfDeadlock { member, .. } | Finding::Disk { member } => vec![member],
        Finding::HeldLock { waiters, owner, .. } => std::iter::once(owner).chain(waiters).collect(),
        Finding::Peer { member, peers } => std::iter::once(member).chain(peers).collect(),
        _ => Vec::new(),
    }
}

fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Missing { process } => {
            format!("no process has the number {process} here (numbers in a container differ from those outside)")
        }
        Finding::Refused { process, command } => format!(
            "the kernel shows the waits of {command} (pid {process}) to its own user and to root only; run contend as \
             one of these"
        ),
        Finding::Zombie { process, command, parent, parent_command } => format!(
            "{command} (pid {process}) has ended; its parent, {parent_command} (pid {parent}), has not collected its \
             exit status"
        ),
        Finding::Stopped { process, command, tracer: None } => {
            format!("{command} (pid {process}) is stopped by a signal; kill -CONT {process} continues it")
        }
        Finding::Stopped { process, command, tracer: Some((tracer, name)) } => {
            format!("{command} (pid {process}) is stopped by its tracer, {name} (pid {tracer})")
        }
        Finding::Frozen { process, command } => {
            format!("the control group of {command} (pid {process}) is frozen")
        }
        Finding::Cycle { members } => cycle(members),
        Finding::SelfDeadlock { member, again, waiters } => self_deadlock(member, again, *waiters),
        Finding::OwnerGone { members, lock, owner, gone } => owner_gone(members, lock, *owner, gone),
        Finding::Pool { members, dispatcher, task } => pool(members, dispatcher, task),
        Finding::HeldLock { waiters, lock, owner, is_elsewhere } => held_lock(waiters, lock, owner, *is_elsewhere),
        Finding::Peer { member, peers } => peer(member, peers),
        Finding::NoWaker { members } => no_waker(members),
        Finding::Disk { member } => {
            format!("{} of {} is in uninterruptible I/O{}", thread(member), process(member), disk(&member.wait))
        }
        Finding::Going { members } => going(members),
        Finding::NotSeen { members } => match members.first() {
            Some(first) => {
                let wait = match &first.wait {
                    wait @ (Wait::Requests { .. } | Wait::Terminal) => format!("; it waits for {}", object(wait)),
                    wait @ Wait::Event { .. } => format!("; {}{} waits for {}", thread(first), at(first), object(wait)),
                    _ => String::new(),
                };
                format!(
                    "no {} of {} runs{wait}, and what else its code waits for is not seen from outside",
                    kind(first),
                    process(first)
                )
            }
            None => "no thread could be looked at".into(),
        },
    }
}

fn cycle(members: &[Member]) -> String {
    let links = members.len();
    let link = |(place, member): (usize, &Member)| {
        let next = &members[(place + 1) % links];
        format!("{}{} waits for {}", thread_in(member, members), at(member), target(member, next, members))
    };
    let told: Vec<String> = members.iter().enumerate().take(MOST_LINKS).map(link).collect();
    let rest = if links > MOST_LINKS { format!("; and {} more", links - MOST_LINKS) } else { String::new() };
    let processes = if is_one_process(members) { format!("in {}, ", process(&members[0])) } else { String::new() };
    format!("{processes}{}{rest}", told.join("; "))
}

/// Returns the object of a wait together with the member that could end it.
fn target(member: &Member, next_member: &Member, members: &[Member]) -> String {
    let next = thread_in(next_member, members);
    match &member.wait {
        Wait::Lock(lock) => {
            // A writer that waits for the readers keeps later ones waiting.
            let waits_too = matches!(&next_member.wait, Wait::Lock(other) if other.address == lock.address);
            let holds = match lock.owner {
                Owner::Likely { .. } => "probably holds",
                _ if lock.kind == "class" => "runs",
                _ if waits_too && lock.kind == "sync.RWMutex" => "has requested before",
                _ => "holds",
            };
            format!("{}, which {next} {holds}", lock_name(lock))
        }
        Wait::Join { .. } => format!("the end of {next}"),
        Wait::Child { .. } => format!("the end of its child, {next}"),
        Wait::Peer { channel, writes, .. } => format!("{} {next}", data(*channel, *writes)),
        Wait::FileLock { path, .. } => format!("the lock of {path}, which {next} holds"),
        wait => format!("{}: {next}", object(wait)),
    }
}

fn self_deadlock(member: &Member, again: &Again, waiters: usize) -> String {
    let Wait::Lock(lock) = &member.wait else { return String::new() };
    let (who, name) = (format!("{} of {}", thread(member), process(member)), lock_name(lock));
    let owns = if matches!(lock.owner, Owner::Likely { .. }) { "probably holds itself" } else { "holds itself" };
    let begin = format!("{who}{} waits for {name}, which it {owns}", at(member));
    let rest = match again {
        Again::Handler { handler, interrupted, library_call } => {
            let handler = handler
                .as_ref()
                .map_or_else(|| "a signal handler".into(), |one| format!("the signal handler {}", one.function));
            let code = interrupted.as_ref().map_or_else(|| "code".into(), place);
            let code = library_call.as_ref().map_or_else(|| code.clone(), |call| format!("{call}, called by {code}"));
            format!(": {handler} interrupted {code}")
        }
        Again::Caller { place: caller } => {
            format!(": its caller {} acquires a lock by the same function in another call", place(caller))
        }
        Again::Kept => {
            let function = member.place.as_ref().map_or("a function", |place| &place.function);
            format!(
                ": no function on its stack acquires a lock in another call, so an earlier call of {function}, or of \
                 another function, returned without releasing it"
            )
        }
        Again::Unknown => ": it acquired it before, and has not released it".into(),
    };
    let others = if waiters > 0 { format!("; {} for it as well", waits(waiters)) } else { String::new() };
    format!("{begin}{rest}{others}")
}

fn owner_gone(members: &[Member], lock: &Lock, owner: u32, gone: &Gone) -> String {
    let Some(first) = members.first() else { return String::new() };
    let begin = format!("{} of {}{} waits for {}", thread(first), process(first), at(first), lock_name(lock));
    let rest = match gone {
        Gone::Inherited { parent, is_alive } => {
            let state = if *is_alive { "of the parent" } else { "of the process it was forked from" };
            format!(
                ", which was held when the process was forked: the owner, thread {owner}, is {state} (pid {parent}), and \
                 no thread here can release it"
            )
        }
        Gone::Ended if owner == 0 => ", whose owner has ended without releasing it".to_owned(),
        Gone::Ended => format!(", whose owner, thread {owner}, has ended without releasing it"),
        Gone::Killed => {
            format!(
                " in shared memory, whose owner, thread {owner}, has ended with its process and without releasing it"
            )
        }
    };
    let others = members.len() - 1;
    let others = if others > 0 { format!("; {} for it as well", waits(others)) } else { String::new() };
    format!("{begin}{rest}{others}")
}

fn pool(members: &[Member], dispatcher: &Place, task: &Place) -> String {
    let Some(first) = members.first() else { return String::new() };
    let where_ = first.place.as_ref().map_or_else(|| task.function.clone(), place);
    let (all, wait) = match members.len() {
        1 => ("the only thread".to_owned(), "waits"),
        count => (format!("all {count} threads"), "wait"),
    };
    format!(
        "{all} of {} that {} tasks for {} {wait} inside such a task, in {where_}: no worker is left to run the tasks that \
         {} for, and no other thread can",
        process(first),
        if members.len() == 1 { "runs" } else { "run" },
        dispatcher.function,
        if members.len() == 1 { "it waits" } else { "they wait" },
    )
}

fn held_lock(waiters: &[Member], lock: &Lock, owner: &Member, is_elsewhere: bool) -> String {
    let first = waiters.first().map(at).unwrap_or_default();
    let held = if matches!(lock.owner, Owner::Likely { .. }) { "probably held" } else { "held" };
    let elsewhere = if is_elsewhere {
        let function = waiters.first().and_then(|one| one.place.as_ref()).map_or("that", |place| &place.function);
        format!(
            "; no function on its stack acquires a lock, so it may have returned from {function}, or from another \
             one, without releasing it"
        )
    } else {
        String::new()
    };
    format!(
        "{} of {}{} for {}, {held} by {}, which {}{}{elsewhere}",
        counted(waiters.len(), kind(owner)),
        process(owner),
        format_args!("{first} {}", if waiters.len() == 1 { "waits" } else { "wait" }),
        lock_name(lock),
        thread(owner),
        does(owner),
        at(owner),
    )
}

fn peer(member: &Member, peers: &[Member]) -> String {
    let Some(first) = peers.first() else { return String::new() };
    let what = match &member.wait {
        Wait::FileLock { path, .. } => format!("the lock of {path}, held by {}", process(first)),
        Wait::Peer { channel, writes, .. } => format!("{} {}", data(*channel, *writes), process(first)),
        _ => process(first),
    };
    format!(
        "{} of {}{} waits for {what}, which {}{}",
        thread(member),
        process(member),
        at(member),
        does(first),
        at(first)
    )
}

fn no_waker(members: &[Member]) -> String {
    let Some(first) = members.first() else { return String::new() };
    let count = if members.len() == 1 {
        format!("the only {}", kind(first))
    } else {
        format!("all {} {}s", members.len(), kind(first))
    };
    let verb = if members.len() == 1 { "waits" } else { "wait" };
    format!(
        "{count} of {} {verb}, and no {} that is left can wake {}: {}{} waits for {}",
        process(first),
        kind(first),
        if members.len() == 1 { "it" } else { "them" },
        thread(first),
        at(first),
        object(&first.wait)
    )
}

fn going(members: &[Member]) -> String {
    let Some(first) = members.first() else { return String::new() };
    let running = members.iter().filter(|one| one.wait == Wait::Nothing).count();
    if running > 0 {
        return format!(
            "{} of {} {}{}",
            counted(running, kind(first)),
            process(first),
            if running == 1 { "runs" } else { "run" },
            at(first)
        );
    }
    let what = match &first.wait {
        Wait::Requests { .. } | Wait::Terminal | Wait::Time { .. } | Wait::Signal => object(&first.wait),
        _ if first.has_moved => {
            return format!("{} runs at times: {} did since the first look", process(first), thread(first));
        }
        wait => object(wait),
    };
    format!("{} waits for {what}{}", process(first), at(first))
}

fn is_one_process(members: &[Member]) -> bool {
    members.iter().all(|member| member.process == members[0].process)
}

fn waits(count: usize) -> String {
    format!("{} {}", counted(count, "other thread"), if count == 1 { "waits" } else { "wait" })
}

/// Returns the state of a thread, as a verb.
fn does(member: &Member) -> String {
    match &member.wait {
        Wait::Nothing => "runs".into(),
        Wait::Time { span_s: Some(span) } => format!("sleeps for {}", terminal::nanoseconds(span * 1e9)),
        Wait::Time { span_s: None } => "sleeps".into(),
        wait => format!("waits for {}", object(wait)),
    }
}

/// Returns what a thread waits for.
fn object(wait: &Wait) -> String {
    match wait {
        Wait::Nothing => "nothing".into(),
        Wait::Lock(lock) => match lock.owner {
            Owner::Thread { thread, .. } => format!("{}, held by {} {thread}", lock_name(lock), holder(lock)),
            Owner::Likely { thread, .. } => {
                format!("{}, probably held by {} {thread}", lock_name(lock), holder(lock))
            }
            Owner::Gone { thread: 0 } => format!("{}, whose owner has ended", lock_name(lock)),
            Owner::Gone { thread } => format!("{}, whose owner, thread {thread}, does not exist here", lock_name(lock)),
            Owner::Readers => format!("{}, held by readers", lock_name(lock)),
            Owner::Unknown => format!("{}, whose owner is not known", lock_name(lock)),
        },
        Wait::Event { object, name, is_timed, .. } => {
            let named = match (&**object, name) {
                ("cond", Some(name)) => format!("the condition variable {name}"),
                ("sem", Some(name)) => format!("the semaphore {name}"),
                ("barrier", Some(name)) => format!("the barrier {name}"),
                ("join", _) => "the end of a thread".into(),
                ("notify", Some(class)) => format!("a notification of a {class}"),
                ("park", Some(class)) if class.ends_with("ConditionObject") => "a signal of a condition".into(),
                ("park", Some(class)) => format!("another thread to wake it at a {class}"),
                (_, Some(name)) => format!("a change of {name}"),
                _ => String::new(),
            };
            let kind = match &**object {
                "cond" => "a condition variable".into(),
                "park" => "another thread to wake it".into(),
                "channel" => "a message, or room for one".into(),
                "barrier" => "other threads at a barrier".into(),
                "futex" | "lock" => "another thread to wake it".into(),
                "sem" => "a semaphore".into(),
                "select" => "a message of one of several channels".into(),
                "group" => "the end of a group of goroutines".into(),
                "eventfd" => "another thread to wake it".into(),
                name => name.to_owned(),
            };
            let what = if named.is_empty() { kind } else { named };
            if *is_timed { format!("{what}, up to a time") } else { what }
        }
        Wait::Join { thread } => format!("the end of thread {thread}"),
        Wait::Child { pids } => match &pids[..] {
            [] => "its children".into(),
            [pid] => format!("the end of its child {pid}"),
            pids => format!("the end of {} children", pids.len()),
        },
        Wait::Time { .. } => "a point in time".into(),
        Wait::Requests { addresses } => {
            let mut named: Vec<&str> = addresses.iter().map(String::as_str).take(MOST_LINKS).collect();
            named.dedup();
            format!("requests on {}", named.join(", "))
        }
        Wait::Terminal => "input from its terminal".into(),
        Wait::Peer { channel, writes, peers, .. } => {
            let pids: Vec<String> = peers.iter().map(|pid| format!("pid {pid}")).collect();
            let from = if pids.is_empty() { "a process that was not found".into() } else { pids.join(", ") };
            format!("{} {from}", data(*channel, *writes))
        }
        Wait::FileLock { path, owner: Some(owner) } => format!("the lock of {path}, held by pid {owner}"),
        Wait::FileLock { path, owner: None } => format!("the lock of {path}, whose owner is not known"),
        Wait::Disk { .. } => format!("storage{}", disk(wait)),
        Wait::Signal => "a signal".into(),
        Wait::Outside { call, is_timed } => {
            let until = if *is_timed { ", up to a time" } else { "" };
            format!("something outside of it ({call}){until}")
        }
        Wait::Hidden => "something that the kernel does not show".into(),
    }
}

fn data(channel: Channel, writes: bool) -> &'static str {
    match (channel, writes) {
        (Channel::Pipe, false) => "data from a pipe of",
        (Channel::Pipe, true) => "room in a pipe to",
        (Channel::Socket, false) => "data from a socket of",
        (Channel::Socket, true) => "room in a socket to",
    }
}

fn disk(wait: &Wait) -> String {
    match wait {
        Wait::Disk { path: Some(path) } => format!(" of {path}"),
        _ => String::new(),
    }
}

/// Returns the word for the kind of threads that hold a lock.
fn holder(lock: &Lock) -> &'static str {
    if lock.kind.starts_with("sync.") { "goroutine" } else { "thread" }
}

fn lock_name(lock: &Lock) -> String {
    let kind = match &*lock.kind {
        "interpreter" => return "Python's interpreter lock (GIL)".into(),
        "sem" => "semaphore",
        "allocator" => "the heap's lock",
        "stream" => "a stream's lock",
        "libc" => "a lock of the C library",
        "once" => "the end of an initialisation",
        "monitor" => {
            let class = lock.name.as_deref().unwrap_or("object");
            return format!("the monitor of the {class} at {:#x}", lock.address);
        }
        "synchronizer" => {
            let class = lock.name.as_deref().unwrap_or("lock");
            return format!("the {class} at {:#x}", lock.address);
        }
        "class" => return format!("the end of the initialiser of {}", lock.name.as_deref().unwrap_or("a class")),
        kind => kind,
    };
    match &lock.name {
        Some(name) => name.clone(),
        None if kind.contains(' ') && kind != "Python lock" => kind.to_owned(),
        None => format!("the {kind} at {:#x}", lock.address),
    }
}

fn thread(member: &Member) -> String {
    if member.is_goroutine {
        return format!("goroutine {}", member.thread);
    }
    // A thread without a name has that of the program.
    let is_named = !member.name.is_empty() && !member.command.starts_with(&*member.name);
    let name = if is_named { format!(" ({})", member.name) } else { String::new() };
    format!("thread {}{name}", member.thread)
}

/// Returns the word for the threads of a member's kind.
fn kind(member: &Member) -> &'static str {
    if member.is_goroutine { "goroutine" } else { "thread" }
}

/// Returns a thread, with its process where the members are of several.
fn thread_in(member: &Member, members: &[Member]) -> String {
    if is_one_process(members) { thread(member) } else { process(member) }
}

fn process(member: &Member) -> String {
    format!("{} (pid {})", member.command, member.process)
}

fn at(member: &Member) -> String {
    member.place.as_ref().map_or_else(String::new, |one| format!(" in {}", place(one)))
}

fn place(place: &Place) -> String {
    match &place.source {
        Some(source) => format!("{} ({})", place.function, short(source)),
        None => place.function.clone(),
    }
}

/// Returns the members, with how many goroutines wait for the same kind of object at the same place.
fn groups<'a>(members: impl Iterator<Item = &'a Member>) -> Vec<(&'a Member, usize)> {
    let mut groups: Vec<(&Member, usize)> = Vec::new();
    for member in members {
        let is_same = |(one, _): &&mut (&Member, usize)| {
            let place =
                |member: &Member| (member.process, member.is_goroutine, member.place.clone(), member.callers.clone());
            member.is_goroutine && place(one) == place(member) && does(one) == does(member)
        };
        match groups.iter_mut().find(is_same) {
            Some((_, count)) => *count += 1,
            None => groups.push((member, 1)),
        }
    }
    groups
}

/// Returns the line of a thread, and of others like it: its wait, and its call path.
fn line(member: &Member, count: usize) -> String {
    let called = member.called.as_ref().zip(member.place.as_ref());
    let called = called.map(|(function, _)| format!("{function} < ")).unwrap_or_default();
    let path: Vec<String> = member.place.iter().chain(&member.callers).map(place).collect();
    let path = if path.is_empty() { String::new() } else { format!(": {called}{}", path.join(" < ")) };
    let name = match count {
        1 if member.is_goroutine => String::new(),
        1 => format!(" ({})", member.name),
        count => format!(" and {} like it, each", count - 1),
    };
    let kind = kind(member);
    format!("pid {} {kind} {}{name} {}{path}", member.process, member.thread, does(member))
}

/// Returns the reasons for owners that no word names.
fn inferences(members: &[&Member]) -> Vec<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for member in members {
        let Wait::Lock(Lock { owner: Owner::Likely { reason, .. }, .. }) = &member.wait else { continue };
        let text = match reason {
            Reason::Stack => "Owner inferred: of all threads, only its stack refers to the lock.",
            Reason::Interpreter => {
                "Owner inferred: the only thread that is blocked outside of the interpreter has its lock."
            }
            Reason::With => "Owner inferred: its source line is within a `with` statement of that name.",
            Reason::Handler => {
                "Owner inferred: the handler interrupted a function with a lock of the same library, and no other thread \
                 can have it."
            }
            Reason::Goroutine => {
                "Owner inferred: of all goroutines, only its code and stack show that it acquires this lock elsewhere."
            }
            Reason::Initialiser => "Owner inferred: it runs the initialiser that the others wait for.",
        };
        if !reasons.contains(&text) {
            reasons.push(text);
        }
    }
    reasons.into_iter().map(str::to_owned).collect()
}

fn unseen(unseen: &Unseen) -> String {
    match unseen {
        Unseen::Runtime { process, language, seen, refusal } => {
            let (what, how) = match (language, seen) {
                (Language::Go, _) => ("goroutines", "kill -QUIT prints them and ends the program"),
                (Language::Java, Seen::Partly) => ("virtual threads", "jcmd PID Thread.dump_to_file shows these"),
                (Language::Java, _) => ("what the threads of Java wait for", "jcmd PID Thread.print shows that"),
                _ => ("promises and callbacks", "they have no thread"),
            };
            let how = refusal.as_deref().unwrap_or(how);
            format!("Not seen: {what} of pid {process} ({how}).")
        }
        Unseen::Process { process, command } => {
            format!("Not seen: the waits of {command} (pid {process}), refused by the kernel.")
        }
        Unseen::Threads { process, count } => {
            format!("Not seen: {} of pid {process}.", counted(*count, "further thread"))
        }
        Unseen::Owner { lock } => format!("Not seen: the owner of {}, which has no word for it.", lock_name(lock)),
    }
}
