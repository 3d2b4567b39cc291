//! The values that the samples add to the rows of locks and labels.

use super::objects::Object;
use super::stack;
use crate::trace::python_locks::PythonPlace;
use crate::trace::record::{LabelLock, Row, RowKind, SeenBy, UNKNOWN};
use blame::frames::Kind;
use blame::sampling::budget::Part;
use blame::sampling::waited::Wait;
use instruments::statistics::Interval;

/// Adds the part of the time in which the threads had something to do; `covered` is the part of the waits that is of it.
pub(super) fn add_busy_shares(rows: &mut [Row], covered: f64, busy_s: f64) {
    for row in rows.iter_mut().filter(|row| matches!(row.kind, RowKind::Lock | RowKind::Site)) {
        row.wait_busy_share = (busy_s > 0.0).then(|| (covered * row.wait_total_s / busy_s).min(1.0));
    }
}

/// Adds the call path that waited most for each lock, and the type of those by which threads wait for work: no thread holds such a
/// one.
pub(super) fn add_paths(rows: &mut [Row], slots: &[Vec<u32>], objects: &[Object]) {
    for (row, slots) in rows.iter_mut().zip(slots) {
        let mut of_row = objects.iter().filter(|object| object.wait == Wait::Lock(slots[0])).peekable();
        if let Some(first) = of_row.peek() {
            row.stack = stack(&first.frames);
            if of_row.all(|object| object.kind == Kind::Park.name()) {
                row.lock_type = Kind::Park.name().to_owned();
            }
        }
    }
}

/// Replaces the waits for the words of locks by those of the samples, where the record was so short a part of the time that
/// it says less. The samples are of the part `covered` of the threads' time.
pub(super) fn use_samples_for_wide(rows: &mut [Row], objects: &[Object], covered: f64) {
    /// The larger end of an interval, as a multiple of the smaller one.
    const WIDE: f64 = 1.5;
    let is_wide = |row: &Row| row.wait_total_ci_s.filter(|ends| ends.high > WIDE * ends.low && row.wait_total_s > 0.0);
    let wide = (0..rows.len()).filter(|place| rows[*place].kind == RowKind::Lock);
    let wide: Vec<(usize, Interval)> = wide.filter_map(|place| Some((place, is_wide(&rows[place])?))).collect();
    for (place, ends) in wide {
        let (process, address) = (rows[place].process, rows[place].address.clone());
        let Some(sampled_s) = sampled_s(objects, process, &address) else { continue };
        // The recorded part is certain.
        let wait_total_s = (sampled_s / covered).max(ends.low);
        let factor = wait_total_s / rows[place].wait_total_s;
        rows[place].seen_by = SeenBy::Sampling;
        let is_its = |row: &&mut Row| {
            matches!(row.kind, RowKind::Lock | RowKind::Site) && row.process == process && row.address == address
        };
        for row in rows.iter_mut().filter(is_its) {
            (row.wait_total_s, row.wait_total_ci_s) = (row.wait_total_s * factor, None);
            row.wait_share = row.wait_share.map(|share| (share * factor).min(1.0));
            let parts = [&mut row.held_running_s, &mut row.held_preempted_s, &mut row.held_blocked_s];
            let others = [&mut row.released_s, &mut row.unknown_s];
            parts.into_iter().chain(others).flatten().for_each(|part| *part *= factor);
        }
    }
}

/// Returns the sampled waits for the lock at an address; `None` if samples do not show that it is one. The locks of a class
/// have the time of each, and those of parking_lot the sum of the words that its threads wait for.
pub(super) fn sampled_s(objects: &[Object], process: u32, address: &str) -> Option<f64> {
    let is_it = |wait: Wait| match wait {
        Wait::Word { process: of, address: word } => of == process && format!("{word:#x}") == address,
        _ => false,
    };
    objects.iter().filter(|object| object.part == Part::Lock).find_map(|object| {
        let member = object.members.iter().find(|(wait, _)| is_it(*wait)).map(|(_, seconds)| *seconds);
        member.or_else(|| is_it(object.wait).then_some(object.waited.seconds)).filter(|seconds| *seconds > 0.0)
    })
}

/// Names the rows of words that are locks of Python.
pub(super) fn name_python_words(rows: &mut [Row], objects: &[Object]) {
    for object in objects {
        let Wait::Word { process, address } = object.wait else { continue };
        let Some(place) = PythonPlace::of(&object.frames) else { continue };
        let address = format!("{address:#x}");
        for row in rows.iter_mut().filter(|row| row.process == process && row.address == address) {
            (row.lock, row.lock_type) = (place.name.clone(), place.kind().to_owned());
            (row.symbol, row.source) = (place.site.symbol.clone(), place.site.source.clone());
            // All are functions of the interpreter.
            row.blocked_by.clear();
        }
    }
}

/// Gives the rows of words that are not known to be locks another type.
pub(super) fn name_by_purpose(rows: &mut [Row], objects: &[Object]) {
    // A mutex stays one where it is not known what its waiters wait for.
    let is_other = |object: &&Object| {
        // Samples without a call path know less than the call, which has one.
        !object.frames.frames.is_empty() && (object.part == Part::Work || object.type_name() == UNKNOWN)
    };
    for object in objects.iter().filter(is_other) {
        let Wait::Word { process, address } = object.wait else { continue };
        let address = format!("{address:#x}");
        for row in rows.iter_mut().filter(|row| row.process == process && row.address == address && row.excludes()) {
            row.lock_type = object.type_name().to_owned();
        }
    }
}

/// Adds a sampled wait for a lock to the waits of a label, of which `noted_s` were not sampled.
pub(super) fn add_sampled(row: &mut Row, noted_s: f64, lock: &str, seconds: f64) {
    /// The waits of a label are exact where a smaller part of them was sampled.
    const LITTLE: f64 = 0.1;
    let total_s = row.total_s.unwrap_or(0.0).max(1e-9);
    let lock_s = (row.lock_s.unwrap_or(0.0) + seconds).min(total_s);
    (row.lock_s, row.share) = (Some(lock_s), Some(lock_s / total_s));
    if lock_s - noted_s > LITTLE * lock_s {
        row.seen_by = SeenBy::Sampling;
    }
    match row.label_locks.iter_mut().find(|known| known.lock == lock) {
        Some(known) => known.wait_s += seconds,
        None => {
            row.label_locks.push(LabelLock { lock: lock.to_owned(), wait_s: seconds, share: 0.0, held_by: Vec::new() });
        }
    }
    row.label_locks.sort_by(|one, other| other.wait_s.total_cmp(&one.wait_s));
    row.label_locks.iter_mut().for_each(|lock| lock.share = (lock.wait_s / total_s).min(1.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::diagnosis::places::tests::path;
    use blame::jvm::JavaLock;
    use blame::sampling::waited::Waited;

    /// A mutex of two threads, whose use shows that they wake each other in turn.
    #[test]
    fn type_by_the_call_path_stays_where_samples_have_none() {
        let typed = |functions: &[(&str, bool)]| {
            let (wait, part, frames) = (Wait::Word { process: 1, address: 0x10 }, Part::Unknown, path(functions));
            let object = Object { wait, part, frames, kind: "futex", ..Object::of_java(&JavaLock::default()) };
            let (address, lock_type) = ("0x10".to_owned(), "mutex".to_owned());
            let mut rows = [Row { address, lock_type, ..Row::new(RowKind::Lock, 1, "lock".into()) }];
            name_by_purpose(&mut rows, &[object]);
            let [row] = rows;
            row.lock_type
        };
        assert_eq!(typed(&[]), "mutex");
        assert_eq!(typed(&[("take_turn", false)]), UNKNOWN);
    }

    #[test]
    fn samples_count_where_the_record_covers_too_little() {
        let word = |address| Wait::Word { process: 0, address };
        let members = vec![(word(0x10), 1.0), (word(0x20), 2.0)];
        let waited = Waited { seconds: 3.0, ..Waited::default() };
        let object =
            Object { wait: word(0x10), members, waited, part: Part::Lock, ..Object::of_java(&JavaLock::default()) };
        let row = |kind, address: &str, wait_total_s: f64, ends: [f64; 2]| Row {
            address: address.into(),
            wait_total_s,
            wait_total_ci_s: Some(Interval::new(ends[0], ends[1])),
            held_blocked_s: Some(4.0),
            ..Row::new(kind, 0, "lock".into())
        };
        let mut rows = [
            row(RowKind::Lock, "0x10", 8.0, [1.0, 30.0]),
            row(RowKind::Site, "0x10", 4.0, [0.5, 15.0]),
            row(RowKind::Lock, "0x20", 8.0, [7.0, 9.0]),
            row(RowKind::Lock, "0x10", 0.0, [0.0, 30.0]),
            row(RowKind::Lock, "0x30", 8.0, [1.0, 30.0]),
        ];
        use_samples_for_wide(&mut rows, &[object], 0.5);
        let seen = rows.each_ref().map(|row| (row.wait_total_s, row.held_blocked_s, row.seen_by == SeenBy::Sampling));
        assert_eq!(seen[0], (2.0, Some(1.0), true), "of one member, in all of the time");
        assert_eq!(seen[1].0, 1.0, "its call sites follow");
        assert_eq!(seen[2], (8.0, Some(4.0), false), "the record says enough");
        assert_eq!((seen[3].0, seen[4].0), (0.0, 8.0), "nothing to scale, and no samples");
    }
}
