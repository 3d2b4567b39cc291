//! The rows of locks, by the objects of the diagnosis.

use crate::trace::record::{Row, RowKind};
use blame::names::short;
use blame::sampling::waited::Wait;

/// The rows of the locks, by their slots.
pub(super) struct Rows<'a> {
    pub(super) rows: &'a [Row],
    pub(super) slots: &'a [Vec<u32>],
}

impl Rows<'_> {
    /// Returns the row of a class, by its first lock; or of a word.
    pub(super) fn of(&self, wait: Wait) -> Option<&Row> {
        match wait {
            Wait::Lock(slot) => self.rows.get(self.slots.iter().position(|slots| slots[0] == slot)?),
            // The rows of a process that was attached to are of words. Forked processes have locks at the same addresses.
            Wait::Word { process, address } => {
                let address = format!("{address:#x}");
                let is_it = |row: &&Row| (row.kind, row.process, &row.address) == (RowKind::Lock, process, &address);
                self.rows.iter().find(is_it)
            }
            Wait::Call { .. } | Wait::Hidden => None,
        }
    }

    /// Returns the row of the call site with this label, of the same lock.
    pub(super) fn site(&self, lock: &Row, label: &str) -> Option<&Row> {
        let is_it = |row: &&Row| {
            let is_in = |text: Option<&str>| text.is_some_and(|text| label.contains(text));
            row.kind == RowKind::Site
                && (row.lock == lock.lock && row.process == lock.process)
                && is_in(row.symbol.as_deref())
                && (row.source.is_none() || is_in(row.source.as_deref().map(short)))
        };
        self.rows.iter().find(is_it)
    }

    /// Returns the part of the waits for a lock that are in a function.
    pub(super) fn share_in(&self, lock: &Row, function: &str) -> f64 {
        let is_here = |row: &&Row| {
            row.kind == RowKind::Site
                && (row.process, &row.address) == (lock.process, &lock.address)
                && row.symbol.as_deref() == Some(function)
        };
        let here_s: f64 = self.rows.iter().filter(is_here).map(|row| row.wait_total_s).sum();
        here_s / lock.wait_total_s.max(1e-9)
    }

    /// Returns the call site at which a lock was tried in vain most often.
    pub(super) fn most_tried(&self, wait: Wait) -> Option<String> {
        let lock = self.of(wait)?;
        let is_its = |row: &&Row| row.kind == RowKind::Site && row.lock == lock.lock && row.process == lock.process;
        let most = self.rows.iter().filter(is_its).max_by_key(|row| row.timeouts)?;
        let symbol = most.symbol.clone()?;
        Some(most.source.as_deref().map_or_else(|| symbol.clone(), |source| format!("{symbol} ({})", short(source))))
    }

    /// Returns the first lock of the class of a lock.
    pub(super) fn first_of(&self, wait: Wait) -> Wait {
        let Wait::Lock(slot) = wait else { return wait };
        self.slots.iter().find(|slots| slots.contains(&slot)).map_or(wait, |slots| Wait::Lock(slots[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_addresses_of_two_processes_are_two_locks() {
        let row = |process| Row { address: "0x40".into(), ..Row::new(RowKind::Lock, process, format!("of {process}")) };
        let (rows, word) = ([row(7), row(8)], |process| Wait::Word { process, address: 0x40 });
        let rows = Rows { rows: &rows, slots: &[] };
        let lock = |process| rows.of(word(process)).map(|row| row.lock.as_str());
        assert_eq!([lock(7), lock(8), lock(9)], [Some("of 7"), Some("of 8"), None]);
    }
}
