//! Waits for work: the object at which threads wait most, the thread that ends these waits, and where that one spends its time,
//! through the objects that it waits for itself.

use super::Evidence;
use super::objects::{Object, is_same_block};
use super::places::label;
use super::rows::Rows;
use crate::trace::record::{LongWait, Row};
use crate::trace::words::{whole_percent, without_arguments};
use blame::frames::{Kind, is_lock_wrapper};
use blame::sampling::budget::{Budget, Part, call_name};
use blame::sampling::life::Life;
use blame::sampling::waited::Wait;
use std::collections::{BTreeMap, BTreeSet};

/// Objects at which threads wait for each other, one after another, are followed so far.
const LONGEST_CHAIN: usize = 8;
/// Threads that wait for the end of others from this part of all time on do hardly anything at the same time. With one thread, its
/// parent's wait is half of it.
const SERIAL: f64 = 0.6;
/// A smaller part of the threads' time does not say what limits them.
const LEAST_SHARE: f64 = 0.05;

/// A thread that ended most of the longest waits for an object.
struct Ender<'a> {
    life: &'a Life,
    /// Those that it ended, and all of the longest ones.
    ended: usize,
    of: usize,
}

/// Objects that threads wait for in one place of the code.
struct Group<'a> {
    objects: Vec<&'a Object>,
    seconds: f64,
}

impl<'a> Group<'a> {
    /// Returns the objects whose waits other threads of the program end, since they bring work: those of one place together, the
    /// longest waits first.
    fn all(objects: &'a [Object]) -> Vec<Self> {
        let mut groups: BTreeMap<(&str, String), Vec<&Object>> = BTreeMap::new();
        for object in objects.iter().filter(|object| is_of_threads(object)) {
            groups.entry((object.kind, object.place())).or_default().push(object);
        }
        let mut groups: Vec<Self> = groups.into_values().map(Self::of).collect();
        groups.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        groups
    }

    fn of(objects: Vec<&'a Object>) -> Self {
        Self { seconds: objects.iter().map(|object| object.waited.seconds).sum(), objects }
    }

    /// Returns whether a wait is for one of the objects.
    fn has(&self, wait: Wait) -> bool {
        let is_same = |wait: Wait, member: Wait| wait == member || is_same_block(wait, member);
        let has = |object: &&Object| {
            is_same(wait, object.wait) || object.members.iter().any(|(member, _)| is_same(wait, *member))
        };
        self.objects.iter().any(has)
    }

    /// Returns how long a thread waited for them.
    fn waited_s(&self, life: &Life) -> f64 {
        life.waits.iter().filter(|(wait, _)| self.has(**wait)).map(|(_, seconds)| seconds).sum()
    }

    /// Returns the longest waits, as far as they were recorded.
    fn longest<'r>(&self, rows: &'r Rows<'_>) -> Vec<&'r LongWait> {
        self.objects.iter().filter_map(|object| rows.of(object.wait)).flat_map(|row| &row.longest).collect()
    }
}

impl Evidence {
    /// Returns the place at which threads waited for work most, who ended the waits, and what that thread did; where it was for
    /// `least_s` or more.
    pub(super) fn work(&self, whole: &Budget, objects: &[Object], rows: &Rows<'_>, least_s: f64) -> Option<String> {
        if let Some(work) = self.java_work() {
            return Some(work);
        }
        if let Some(joins) = self.joins(whole, objects) {
            return Some(joins);
        }
        let groups = Group::all(objects);
        let group = groups.first()?;
        let share = group.seconds / whole.lived_s.max(1e-9);
        if share < LEAST_SHARE || group.seconds < least_s {
            return None;
        }
        let first = group.objects.first()?;
        // The name can have the place in it.
        let function = first.function();
        let place = if first.name.contains(&function) { String::new() } else { format!(" in {function}") };
        let more = match group.objects.len() {
            1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        let ends = rows.of(first.wait).filter(|_| more.is_empty()).map(ends).unwrap_or_default();
        let who = match self.is_woken_by_its_waiters(group, rows) {
            true => Some(self.of_pool(group)),
            false => self.of_enders(group, &groups, rows),
        };
        Some(format!(
            " {} of thread time is waits for work at {}{more}{}{ends}.{}",
            whole_percent(share),
            without_arguments(&first.name),
            without_arguments(&place),
            who.unwrap_or_default()
        ))
    }

    /// Returns the place at which threads waited for the end of others for most of all time, and what those did: one after another,
    /// threads are no faster than one.
    fn joins(&self, whole: &Budget, objects: &[Object]) -> Option<String> {
        let joins = || objects.iter().filter(|object| object.kind == Kind::Join.name());
        let group = Group::of(joins().collect());
        let first = joins().max_by(|one, other| one.waited.seconds.total_cmp(&other.waited.seconds))?;
        let share = group.seconds / whole.lived_s.max(1e-9);
        if share < SERIAL {
            return None;
        }
        let others = self.samples.lives.iter().filter(|life| group.waited_s(life) <= LEAST_SHARE * life.lived_s());
        // Threads that were looked at once each have no time in between.
        let did = self.place_of(others, &group).filter(|(.., share)| *share > 0.5).map(|(place, how, share)| {
            format!(" The other threads spent {} of theirs {how} in {place}.", whole_percent(share))
        });
        Some(format!(
            " {} of thread time is waits for the end of other threads in {}, so that few run at a time.{}",
            whole_percent(share),
            without_arguments(&first.function()),
            did.unwrap_or_default()
        ))
    }

    /// Returns how long threads waited for work that others bring.
    pub(super) fn work_s(objects: &[Object]) -> f64 {
        objects.iter().filter(|object| is_of_threads(object)).map(|object| object.waited.seconds).sum()
    }

    /// Returns what the threads of a pool do while they have a part of it.
    fn of_pool(&self, group: &Group<'_>) -> String {
        let waiters = self.samples.lives.iter().filter(|life| group.waited_s(life) > LEAST_SHARE * life.lived_s());
        let place = self.place_of(waiters, group).map(|(place, how, share)| {
            format!(", and they spent {} of the rest of their time {how} in {place}", whole_percent(share))
        });
        format!(
            " The threads that wake others wait for it too: if it is a pool, that may be too small{}.",
            place.unwrap_or_default()
        )
    }

    /// Returns the thread that ended most of the longest waits, and where it was; where it waited for another thread itself, that
    /// one, and so on.
    fn of_enders(&self, group: &Group<'_>, groups: &[Group<'_>], rows: &Rows<'_>) -> Option<String> {
        let (mut group, mut text, mut seen) = (group, String::new(), BTreeSet::new());
        for _ in 0..LONGEST_CHAIN {
            let longest = group.longest(rows);
            let in_vain = longest.iter().filter(|wait| wait.in_vain).count();
            if 2 * in_vain > longest.len() {
                text.push_str(&format!(" {in_vain} of the {} longest ended by their time limit.", longest.len()));
                break;
            }
            let Some(Ender { life, ended, of }) = self.ender(&longest) else { break };
            let Some((place, what, share)) = self.place_of([life].into_iter(), group) else { break };
            if !seen.insert(life.thread) {
                break;
            }
            let is_barrier = group.objects.iter().all(|object| object.kind == Kind::Barrier.name());
            text.push_str(&format!(
                " Thread {} ({}) {} {ended} of the {of} longest: it spent {} of the rest of its time {what} in {place}.",
                life.thread,
                self.group_name(life),
                if is_barrier { "came last in" } else { "ended" },
                whole_percent(share)
            ));
            match self.most_awaited(life, group, groups) {
                Some(next) => group = next,
                None => break,
            }
        }
        (!text.is_empty()).then_some(text)
    }

    /// Returns the thread that ended most of these waits.
    fn ender(&self, longest: &[&LongWait]) -> Option<Ender<'_>> {
        let mut ended: BTreeMap<u32, usize> = BTreeMap::new();
        longest.iter().filter_map(|wait| wait.holder_thread).for_each(|thread| *ended.entry(thread).or_default() += 1);
        let (thread, ended) = ended.into_iter().max_by_key(|(_, ended)| *ended)?;
        let life = self.samples.lives.iter().find(|life| life.thread == thread)?;
        (ended > 1 && 2 * ended > longest.len()).then_some(Ender { life, ended, of: longest.len() })
    }

    /// Returns the objects for which a thread waited for most of its time, but for these, if other threads end that.
    fn most_awaited<'g, 'o>(&self, life: &Life, but: &Group<'_>, groups: &'g [Group<'o>]) -> Option<&'g Group<'o>> {
        let (wait, seconds) = life.waits.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        let is_other = |wait: Option<Wait>| !wait.is_some_and(|wait| but.has(wait));
        let of_all: f64 = life.places().filter(|(wait, ..)| is_other(*wait)).map(|(.., seconds)| seconds).sum();
        groups.iter().find(|group| group.has(*wait)).filter(|_| is_other(Some(*wait)) && 2.0 * seconds > of_all)
    }

    /// Returns the place where threads spent most of their time but for the waits for some objects, what they did there, and the
    /// part of that time.
    fn place_of<'a>(&self, lives: impl Iterator<Item = &'a Life>, but: &Group<'_>) -> Option<(String, String, f64)> {
        let mut places: BTreeMap<(String, String), f64> = BTreeMap::new();
        let mut all_s = 0.0;
        let is_other = |wait: Option<Wait>| !wait.is_some_and(|wait| but.has(wait));
        for (wait, path, seconds) in lives.flat_map(Life::places).filter(|(wait, ..)| is_other(*wait)) {
            all_s += seconds;
            *places.entry((label(&self.frames(path)), what(wait))).or_default() += seconds;
        }
        let is_named = |((place, _), _): &((String, String), f64)| !place.is_empty();
        let ((place, what), seconds) =
            places.into_iter().filter(is_named).max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some((place, what, (seconds / all_s.max(1e-9)).min(1.0)))
    }

    /// Returns whether the threads that wake others from a condition wait for it as well, as those of a pool do.
    fn is_woken_by_its_waiters(&self, group: &Group<'_>, rows: &Rows<'_>) -> bool {
        let lives = self.samples.lives.iter().filter(|life| group.waited_s(life) > LEAST_SHARE * life.lived_s());
        let waiters: BTreeSet<u32> = lives.map(|life| life.thread).collect();
        let is_condition = |row: &Row| row.lock_type == Kind::Condition.name() && !row.folded;
        let are_conditions = group.objects.iter().all(|object| rows.of(object.wait).is_some_and(&is_condition));
        let mut wakers = group.longest(rows).into_iter().filter_map(|wait| wait.holder_thread).peekable();
        are_conditions && wakers.peek().is_some() && wakers.all(|waker| waiters.contains(&waker))
    }
}

/// Returns whether other threads of the program end the waits for an object, since they bring work.
fn is_of_threads(object: &Object) -> bool {
    object.part == Part::Work
        && matches!(object.wait, Wait::Lock(_) | Wait::Word { .. })
        && ![Kind::Join, Kind::Machine].map(Kind::name).contains(&object.kind)
}

/// Returns the words for what a thread does.
fn what(wait: Option<Wait>) -> String {
    match wait {
        None => "on a CPU".into(),
        Some(Wait::Call { part: Part::Sleep, .. }) => "asleep".into(),
        Some(Wait::Call { part: Part::Io, number, .. }) => format!("waiting for I/O ({})", call_name(number)),
        Some(Wait::Call { number, .. }) => format!("blocked ({})", call_name(number)),
        Some(Wait::Lock(_) | Wait::Word { .. } | Wait::Hidden) => "waiting for other threads".into(),
    }
}

/// Returns how the waits of a row end.
fn ends(row: &Row) -> String {
    // From outside only the calls that blocked are counted.
    let woken = if row.acquisitions > 0 { row.acquisitions } else { row.contended };
    // Some functions do nothing but wake another thread.
    let waker = row.blocked_by.first().filter(|by| !is_lock_wrapper(&by.site));
    let waker = waker.map_or_else(String::new, |by| format!(", woken by {}", without_arguments(&by.site)));
    match row.timeouts {
        0 => waker,
        timeouts => format!(
            ", {timeouts} of {} ended by their time limit{}",
            woken + timeouts,
            waker.replacen(", ", ", the others ", 1)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::diagnosis::places::tests::path;
    use blame::sampling::waited::Waited;

    #[test]
    fn program_that_awaits_each_thread_has_the_place_where_it_does() {
        let said = |joined_s: f64| {
            let object = Object {
                wait: Wait::Word { process: 1, address: 8 },
                members: Vec::new(),
                waited: Waited { seconds: joined_s, ..Waited::default() },
                name: String::new(),
                kind: Kind::Join.name(),
                part: Part::Work,
                spins: false,
                frames: path(&[("submit", false), ("main", false)]),
                unclear: None,
                java: None,
            };
            Evidence::default().joins(&Budget { lived_s: 10.0, ..Budget::default() }, &[object])
        };
        let words = said(9.0).unwrap();
        assert!(words.contains(" 90 % ") && words.contains("in submit,"), "{words}");
        assert_eq!(said(2.0), None, "one of five threads awaits the others");
    }
}
