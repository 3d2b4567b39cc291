//! Causes as every view shows them: the processes of one command as one cause, and the lesser causes as one line.

use super::record::CauseRow;
use record::StackPart;

/// The causes of one kind and name.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseGroup {
    /// Their sums; the process ID only where all of them have the same one.
    pub row: CauseRow,
    /// The number of processes; 0 for a cause that is not a task.
    processes: usize,
}

/// Returns the groups of the causes, the largest first.
///
/// An event in which several processes of a group had a part counts once for each of them.
pub fn groups(causes: &[CauseRow]) -> Vec<CauseGroup> {
    let is_alike = |one: &CauseRow, other: &CauseRow| {
        (one.kind, &one.name, one.period_us, one.below_us) == (other.kind, &other.name, other.period_us, other.below_us)
    };
    let mut groups: Vec<CauseGroup> = Vec::new();
    for cause in causes {
        match groups.iter_mut().find(|group| is_alike(&group.row, cause)) {
            Some(group) => group.add(cause),
            None => groups.push(CauseGroup { row: cause.clone(), processes: usize::from(cause.pid.is_some()) }),
        }
    }
    groups.sort_by(|one, other| other.row.total_us.total_cmp(&one.row.total_us));
    groups
}

/// Returns the largest group.
pub fn largest(causes: &[CauseRow]) -> Option<CauseGroup> {
    groups(causes).into_iter().next()
}

impl CauseGroup {
    fn add(&mut self, cause: &CauseRow) {
        self.processes += usize::from(cause.pid.is_some());
        self.row.pid = None;
        self.row.count += cause.count;
        self.row.total_us += cause.total_us;
        self.row.longest_us = self.row.longest_us.max(cause.longest_us);
        self.row.share += cause.share;
    }

    /// Returns the number of processes in words, if there are several.
    pub fn processes_words(&self) -> Option<String> {
        (self.processes > 1).then(|| format!("({} processes)", self.processes))
    }

    /// Returns the cause in words: `task competitor (4711)`, `task rustc (12 processes)`.
    pub fn label(&self) -> String {
        [Some(self.row.label()), self.processes_words()].into_iter().flatten().collect::<Vec<String>>().join(" ")
    }

    /// Returns its part of a bar on the page.
    pub fn part(&self, words: String) -> StackPart {
        StackPart { words, cause: harness::label(&self.row.cause()), share: self.row.share }
    }
}

/// A line of a table of causes.
pub struct CauseLine {
    pub label: String,
    pub share: f64,
    pub count: u64,
    pub total_us: f64,
    pub longest_us: f64,
}

/// Returns a line for each of the largest groups, and one for all others together, so that the shares add up to the whole.
pub fn lines(causes: &[CauseRow], most: usize, label: impl Fn(&CauseGroup) -> String) -> Vec<CauseLine> {
    let groups = groups(causes);
    let (most, rest) = groups.split_at(groups.len().min(most));
    let line = |label: String, groups: &[CauseGroup]| {
        let rows = || groups.iter().map(|group| &group.row);
        CauseLine {
            label,
            share: rows().map(|row| row.share).sum(),
            count: rows().map(|row| row.count).sum(),
            total_us: rows().map(|row| row.total_us).sum(),
            longest_us: rows().map(|row| row.longest_us).fold(0.0, f64::max),
        }
    };
    let others = (!rest.is_empty()).then(|| line(terminal::counted(rest.len(), "other"), rest));
    most.iter().map(|group| line(label(group), std::slice::from_ref(group))).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use instruments::evidence::Kind;

    fn task(name: &str, pid: u32, total_us: f64) -> CauseRow {
        let (kind, name, pid) = (Kind::Task, Some(name.into()), Some(pid));
        CauseRow { kind, name, pid, count: 2, total_us, longest_us: total_us / 2.0, share: total_us / 100.0, ..timer() }
    }

    fn timer() -> CauseRow {
        row("quiet").causes.remove(0)
    }

    #[test]
    fn processes_of_one_command_are_one_cause() {
        let causes = [task("cron", 5, 30.0), task("rustc", 1, 25.0), task("rustc", 2, 24.0), task("rustc", 3, 21.0)];
        let found = groups(&causes);
        let words: Vec<String> = found.iter().map(CauseGroup::label).collect();
        assert_eq!(words, ["task rustc (3 processes)", "task cron (5)"]);
        let rustc = &found[0].row;
        assert_eq!((rustc.count, rustc.total_us, rustc.longest_us, rustc.pid), (6, 70.0, 12.5, None));
        assert_eq!(largest(&causes), found.first().cloned());
        // Periodic and other gaps without a cause are different lines.
        let unknown = CauseRow { kind: Kind::Unexplained, name: None, ..timer() };
        let periodic = CauseRow { period_us: Some(1e3), ..unknown.clone() };
        assert_eq!(groups(&[unknown, periodic]).len(), 2);
    }

    #[test]
    fn lines_add_up_to_the_whole() {
        let causes: Vec<CauseRow> = (0..20).map(|pid| task(&format!("job{}", pid / 2), pid, 5.0)).collect();
        let found = lines(&causes, 8, CauseGroup::label);
        assert_eq!((found.len(), found[8].label.as_str(), found[8].count), (9, "2 others", 8));
        assert!((found.iter().map(|line| line.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(lines(&causes[..2], 8, CauseGroup::label).len(), 1);
    }
}
