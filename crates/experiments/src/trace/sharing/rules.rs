//! Problems of cache lines: which they are, in words, and what helps.
//!
//! A line is a problem if it moves between CPUs and has at least a twentieth of the CPU time, by the lower end of its
//! interval: less is within the accuracy of samples, and hardly worth a change. Locks of one kind that are acquired at one
//! place are one problem. The share is an upper bound of the gain: it contains what the accesses cost a thread that has the
//! line for itself.
//!
//! Threads that seldom run at the same time, because other programs use the CPUs, seldom fight. Then the share is that of the
//! CPU time in which several of them ran, as it would be with the CPUs for themselves.

use super::record::{Row, RowKind, Sharing, Word};
use crate::trace::rules::Rule;
use crate::trace::words::whole_percent;
use instruments::statistics::Interval;
use instruments::statistics::proportion::interval;

/// The least part of the CPU time.
const LEAST_SHARE: f64 = 0.05;
/// The least part of the CPU time in the functions of a lock whose line moves, and that of the line.
const LEAST_IN_FUNCTIONS: f64 = 0.15;
const LEAST_OF_FUNCTIONS: f64 = 0.01;
/// Other programs use the CPUs if threads that have something to run have none for this part of the time.
const CROWDED: f64 = 0.2;
/// The least part of the time in which threads ran together: fewer samples say that.
const LEAST_TOGETHER: f64 = 0.1;
const FEWEST_TOGETHER: u64 = 50;
/// Fewer samples do not show that there is no problem.
const FEWEST_SAMPLES: u64 = 200;
const MOST_WORDS: usize = 4;
const MOST_THREADS: usize = 3;

/// A problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub rule: Rule,
    /// The row of the line with most of the time, and the number of lines.
    pub row: Row,
    pub lines: usize,
    /// The part of the CPU time, and its interval.
    pub share: f64,
    pub ends: Interval,
    /// Whether that is of the time in which several threads ran.
    pub is_together: bool,
    /// The part of the CPU time in the functions of such locks.
    pub functions: Option<f64>,
}

/// Returns the problems, the one with most of the time first.
pub fn problems(rows: &[Row]) -> Vec<Problem> {
    let Some(total) = rows.iter().find(|row| row.kind == RowKind::Total) else { return Vec::new() };
    let code = |row: &Row| match row.sharing {
        _ if row.kind != RowKind::Line => None,
        Sharing::OneThread | Sharing::ReadOnly | Sharing::InTurn => None,
        Sharing::Written if row.lock_type.is_some() => Some(Rule::LockPrice),
        Sharing::Written => Some(Rule::LineShared),
        // A lock's words are used together, also where most samples of two threads were at two of them.
        Sharing::False if row.lock_type.is_some() && is_one_variable(row) => Some(Rule::LockPrice),
        Sharing::False => Some(Rule::LineFalseSharing),
    };
    let mut groups: Vec<(Rule, &Row, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(code) = code(row) else { continue };
        let is_same =
            |first: &Row| code == Rule::LockPrice && first.lock_type == row.lock_type && first.caller == row.caller;
        match groups.iter_mut().find(|group| group.0 == code && is_same(group.1)) {
            Some(group) => group.2.push(row),
            None => groups.push((code, row, vec![row])),
        }
    }
    let user = 1.0 - total.kernel_share.unwrap_or(0.0);
    let problem = |(code, row, lines): (Rule, &Row, Vec<&Row>)| {
        let samples: u64 = lines.iter().map(|line| line.samples).sum::<u64>().min(total.samples);
        let of = |whole: u64, part: f64| {
            let ends = interval(samples.min(whole), whole, 0.95)?.scaled(part);
            Some((part * samples.min(whole) as f64 / whole as f64, ends))
        };
        let (share, ends) = of(total.samples, user)?;
        let kind = |share: &&super::record::LockShare| Some(&share.lock_type) == row.lock_type.as_ref();
        let functions = total.lock_functions.iter().find(kind).map(|share| share.share);
        let functions = functions.filter(|_| code == Rule::LockPrice);
        let is_dear = share >= LEAST_OF_FUNCTIONS && functions.is_some_and(|functions| functions >= LEAST_IN_FUNCTIONS);
        let is_crowded = total.ready_share >= Some(CROWDED) && total.together >= FEWEST_TOGETHER;
        let together = of(total.together, 1.0).filter(|(_, ends)| is_crowded && ends.low >= LEAST_TOGETHER);
        let is_problem = ends.low >= LEAST_SHARE || is_dear || together.is_some();
        let is_together = together.is_some();
        let (share, ends) = together.unwrap_or((share, ends));
        let row = row.clone();
        is_problem.then_some(Problem { rule: code, row, lines: lines.len(), share, ends, is_together, functions })
    };
    let mut problems: Vec<Problem> = groups.into_iter().filter_map(problem).collect();
    problems.sort_by(|one, other| other.share.total_cmp(&one.share));
    problems
}

/// Returns whether the words of a line are of one variable, as far as they have names.
fn is_one_variable(row: &Row) -> bool {
    let base = |word: &Word| word.variable.as_deref().map(|name| name.split("+0x").next().unwrap_or(name).to_owned());
    let mut bases: Vec<Option<String>> = row.words.iter().map(base).collect();
    bases.dedup();
    bases.len() <= 1
}

impl Problem {
    fn percent(&self) -> String {
        let of = if self.is_together { " in which several threads ran" } else { "" };
        let (low, high) = (100.0 * self.ends.low, 100.0 * self.ends.high);
        format!("{} (95 %: {low:.0} to {high:.0} %) of the CPU time{of}", whole_percent(self.share))
    }

    /// Returns what is shared, and how many there are.
    pub fn object(&self) -> String {
        match self.lines {
            1 => self.row.object.clone(),
            lines => format!("{} and {} more", self.row.object, lines - 1),
        }
    }

    /// Returns the place in the code where the line is used most.
    pub fn place(&self) -> String {
        self.row.places.first().map_or_else(|| "an unknown place".to_owned(), |place| place.site.clone())
    }

    /// Returns the cause: how much time goes to the line, and how threads share it.
    pub fn cause(&self) -> String {
        let row = &self.row;
        let threads = terminal::counted(row.threads as usize, "thread");
        if self.rule == Rule::LockPrice {
            let kind = row.lock_type.as_deref().unwrap_or("lock");
            let (all, its) = match self.lines {
                1 => (format!("the {kind}, and each time write its cache line, which then moves"), "its"),
                lines => (format!("{lines} such locks, and each time write a cache line, which then moves"), "their"),
            };
            let functions = self.functions.filter(|functions| *functions > self.share);
            let functions = functions.map_or_else(String::new, |functions| {
                format!("; {its} functions have {} of the CPU time", whole_percent(functions))
            });
            return format!(
                "{threads} acquire {all} between CPUs, also without any wait: {} is spent there{functions}",
                self.percent()
            );
        }
        let used = match self.rule {
            Rule::LineFalseSharing => {
                format!("false sharing, since {threads} use different words of it ({})", words(row))
            }
            _ => format!("{threads} use the same word, and write it ({})", words(row)),
        };
        format!("{} is spent at this cache line, which moves between CPUs: {used}", self.percent())
    }

    /// Returns what helps, and under which condition.
    pub fn remedy(&self) -> String {
        let row = &self.row;
        let is_atomic = row.words.iter().any(|word| word.is_atomic);
        let has_reader = {
            let writes = |thread: &u32| row.words.iter().any(|word| word.writers.contains(thread));
            row.words.iter().flat_map(|word| &word.readers).any(|thread| !writes(thread))
        };
        let kind = row.lock_type.as_deref();
        // A lock of a library, and not one that the program's own code acquires.
        let of_library = row.called.as_ref().zip(row.caller.as_ref()).filter(|_| self.is_in_library());
        let help = match (self.rule, of_library) {
            (Rule::LineFalseSharing, _) => {
                "give the words of each thread a cache line to themselves: align and pad them to 64 bytes, or to 128 where \
                 the CPU fetches lines in pairs"
                    .to_owned()
            }
            (Rule::LockPrice, _) if kind == Some("allocator") => {
                "allocate less often, or use an allocator with caches for each thread".to_owned()
            }
            (Rule::LockPrice, Some((called, caller))) => format!(
                "call {called} less often in {caller}: if it looks an object up each time, fetch that once and keep it, or \
                 keep one for each thread"
            ),
            (Rule::LockPrice, None) if kind == Some("rwlock") => {
                "if the readers' critical sections are short, a plain mutex costs less than the reader lock, which each \
                 reader writes; a copy of the data for each thread costs nothing"
                    .to_owned()
            }
            (Rule::LockPrice, None) => {
                "acquire it less often: divide the data among several locks, or collect work for one acquisition".to_owned()
            }
            (Rule::LineShared, _) if has_reader => {
                "write it less often, or let the readers keep a copy that they renew from time to time".to_owned()
            }
            (Rule::LineShared, _) if is_atomic => {
                "if it is a counter, shard it: count in a variable of each thread, and add these up where the sum is read; \
                 if it counts references, pass the object by reference instead of copying the pointer, or keep a copy for \
                 each thread"
                    .to_owned()
            }
            _ => {
                "give each thread its own copy of the word, a cache line apart, and join these where they are read".to_owned()
            }
        };
        format!(
            "{help} (saves at most {} of the CPU time)",
            whole_percent(self.functions.unwrap_or(0.0).max(self.share))
        )
    }

    /// Returns whether a library acquires the lock for the program.
    fn is_in_library(&self) -> bool {
        let site = self.place();
        site.contains(" in ") && site.contains(", called by ")
    }

    /// Returns the sentence.
    pub fn sentence(&self) -> String {
        let (object, place) = (self.object(), self.place());
        let place = if object.contains(&place) { String::new() } else { format!(", {place}") };
        format!("{object}{place}: {}. Remedy: {}.", self.cause(), self.remedy())
    }

    /// Returns the sentence that says that this is the problem.
    pub fn verdict(&self) -> String {
        let place = self.place();
        let at = if self.object().contains(&place) { String::new() } else { format!(" in {place}") };
        let functions = self.functions.filter(|functions| *functions > self.share);
        let functions = functions.map_or_else(String::new, |functions| {
            format!("; the lock's functions have {} of the CPU time", whole_percent(functions))
        });
        format!(
            "{} goes to cache lines that threads on different CPUs write: {}{at} ({}){functions}",
            self.percent(),
            self.object(),
            kind(self.rule)
        )
    }
}

/// Returns the words for a kind of problem.
fn kind(code: Rule) -> &'static str {
    match code {
        Rule::LineShared => "a shared word",
        Rule::LineFalseSharing => "false sharing",
        _ => "the price of a lock",
    }
}

/// Returns the words of a line, and what threads do there.
fn words(row: &Row) -> String {
    let threads = |threads: &[u32]| {
        let named = threads.iter().take(MOST_THREADS).map(u32::to_string).collect::<Vec<String>>().join(", ");
        match threads.len() {
            1 => format!("thread {named}"),
            2..=MOST_THREADS => format!("threads {named}"),
            many => format!("{many} threads"),
        }
    };
    let word = |word: &Word| {
        let place = word.variable.clone().unwrap_or_else(|| "the word".to_owned());
        let written = (!word.writers.is_empty()).then(|| format!("written by {}", threads(&word.writers)));
        let read = (!word.readers.is_empty()).then(|| format!("read by {}", threads(&word.readers)));
        let usage = written.into_iter().chain(read).collect::<Vec<String>>().join(", ");
        format!("{place} at +{} {usage}", word.offset)
    };
    let mut first: Vec<&Word> =
        row.words.iter().filter(|word| !word.writers.is_empty() || !word.readers.is_empty()).collect();
    first.sort_by(|one, other| other.share.total_cmp(&one.share));
    first.truncate(MOST_WORDS);
    first.sort_by_key(|word| word.offset);
    first.into_iter().map(word).collect::<Vec<String>>().join("; ")
}

/// Returns the sentence that answers whether threads fight for cache lines.
pub fn verdict(rows: &[Row]) -> String {
    match &problems(rows)[..] {
        [] => without_problem(rows),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!("; {} more below", rest.len()) };
            format!("Contention without waiting: {}{more}.", first.verdict())
        }
    }
}

/// Returns what the samples say where they show no problem.
pub fn without_problem(rows: &[Row]) -> String {
    let total = rows.iter().find(|row| row.kind == RowKind::Total);
    let samples = total.map_or(0, |total| total.samples);
    if samples < FEWEST_SAMPLES {
        return format!(
            "Cache lines: undecided, with {} of threads on a CPU.",
            terminal::counted(samples as usize, "sample")
        );
    }
    let is_crowded = total.is_some_and(|total| total.ready_share >= Some(CROWDED) && total.together < FEWEST_TOGETHER);
    if is_crowded {
        return "Cache lines: undecided, since its threads hardly ran at the same time; other programs had the CPUs."
            .into();
    }
    let unknown: f64 = total.map_or(0.0, |total| {
        [total.jumped_share, total.overwritten_share, total.not_decoded_share].into_iter().flatten().sum()
    });
    let known = format!(
        "No cache line that threads on several CPUs share and write has {} of the CPU time",
        whole_percent(LEAST_SHARE)
    );
    if unknown < LEAST_SHARE {
        return format!("{known}.");
    }
    format!("{known}, as far as addresses are known ({} of the samples).", whole_percent(1.0 - unknown))
}

#[cfg(test)]
mod tests {
    use super::super::record::LockShare;
    use super::*;

    /// Returns a row of a line with this part of a thousand samples.
    fn line(object: &str, sharing: Sharing, samples: u64) -> Row {
        let word = |offset: u32, writer: u32| Word {
            offset,
            bytes: 8,
            variable: Some(format!("{object}+{offset:#x}")),
            share: 0.5,
            writers: vec![writer],
            is_atomic: true,
            ..Word::default()
        };
        let words = vec![word(0, 11), word(8, 12)];
        Row { kind: RowKind::Line, object: object.into(), sharing, samples, threads: 2, words, ..Row::default() }
    }

    fn found(lines: &[Row], functions: f64) -> Vec<(Rule, String, usize)> {
        let lock_functions = vec![LockShare { lock_type: "rwlock".into(), share: functions }];
        let total = Row { kind: RowKind::Total, samples: 1_000, lock_functions, ..Row::default() };
        let rows = [&[total], lines].concat();
        problems(&rows).iter().map(|problem| (problem.rule, problem.row.object.clone(), problem.lines)).collect()
    }

    #[test]
    fn lines_that_move_and_have_a_twentieth_are_problems() {
        use Sharing::{InTurn, OneThread, ReadOnly, Written};
        assert_eq!(found(&[line("a", Written, 90)], 0.0), [(Rule::LineShared, "a".into(), 1)]);
        assert_eq!(found(&[line("a", Sharing::False, 90)], 0.0), [(Rule::LineFalseSharing, "a".into(), 1)]);
        // The lower end of the interval of 6 % is 4.6 %.
        assert_eq!(found(&[line("a", Written, 60)], 0.0), []);
        for sharing in [OneThread, ReadOnly, InTurn] {
            assert_eq!(found(&[line("a", sharing, 900)], 0.0), [], "{sharing:?}");
        }
    }

    #[test]
    fn locks_of_one_place_are_one_problem() {
        let lock = |object: &str, samples| Row {
            lock_type: Some("rwlock".into()),
            caller: Some("serve (s.c:3)".into()),
            ..line(object, Sharing::Written, samples)
        };
        assert_eq!(found(&[lock("a", 50), lock("b", 40)], 0.0), [(Rule::LockPrice, "a".into(), 2)]);
        // Little at the line, and much in the functions that acquire and release such locks.
        assert_eq!(found(&[lock("a", 20)], 0.3), [(Rule::LockPrice, "a".into(), 1)]);
        assert_eq!(found(&[lock("a", 20)], 0.1), []);
        assert_eq!(found(&[lock("a", 5)], 0.3), [], "hardly shared");
        // Different words of one lock are one variable; those of a lock and of data are false sharing.
        let apart = Row { sharing: Sharing::False, ..lock("a", 200) };
        assert_eq!(found(std::slice::from_ref(&apart), 0.0)[0].0, Rule::LockPrice);
        let mut with_data = apart;
        with_data.words[1].variable = Some("data".into());
        assert_eq!(found(&[with_data], 0.0)[0].0, Rule::LineFalseSharing);
    }

    #[test]
    fn remedy_depends_on_the_use_and_the_gain_is_a_bound() {
        let problem = |row: Row| {
            let rows = [Row { kind: RowKind::Total, samples: 1_000, ..Row::default() }, row];
            problems(&rows).remove(0)
        };
        let counter = problem(line("hits", Sharing::Written, 400));
        assert!(counter.remedy().contains("count in a variable of each thread"), "{}", counter.remedy());
        assert!(counter.remedy().ends_with("(saves at most 40 % of the CPU time)"), "{}", counter.remedy());
        let mut read = line("level", Sharing::Written, 400);
        (read.words[1].writers, read.words[1].readers) = (vec![], vec![12]);
        assert!(problem(read).remedy().contains("let the readers keep a copy"));
        let library = Row {
            lock_type: Some("rwlock".into()),
            caller: Some("serve (s.c:3)".into()),
            called: Some("digest".into()),
            places: vec![super::super::record::Place {
                site: "pthread_rwlock_rdlock in digest, called by serve (s.c:3)".into(),
                ..Default::default()
            }],
            ..line("rwlock of libx.so", Sharing::Written, 400)
        };
        assert!(problem(library).remedy().starts_with("call digest less often in serve (s.c:3)"));
    }

    /// Other programs have the CPUs: threads ran together in 100 of 1,000 samples, of which 30 are at the line.
    #[test]
    fn share_is_of_the_time_together_where_cpus_are_crowded() {
        let rows = |ready_share, together, samples| {
            let total = Row {
                kind: RowKind::Total,
                samples: 1_000,
                together,
                ready_share: Some(ready_share),
                ..Row::default()
            };
            problems(&[total, line("a", Sharing::False, samples)])
        };
        let [problem] = &rows(0.5, 100, 30)[..] else { panic!("one problem") };
        assert!(
            problem.is_together
                && (problem.share - 0.3).abs() < 1e-9
                && problem.cause().contains("several threads ran")
        );
        assert!(rows(0.1, 100, 30).is_empty(), "the threads seldom run at the same time, and no other program is why");
        assert!(rows(0.5, 30, 9).is_empty() && rows(0.5, 100, 12).is_empty(), "too few");
    }

    #[test]
    fn few_samples_show_nothing() {
        let total = |samples| [Row { kind: RowKind::Total, samples, ..Row::default() }];
        let crowded = [Row { ready_share: Some(0.5), ..total(300)[0].clone() }];
        assert!(verdict(&crowded).contains("undecided"));
        assert!(verdict(&total(100)).contains("undecided") && verdict(&total(300)).starts_with("No cache line"));
        let jumped = [Row { jumped_share: Some(0.3), ..total(300)[0].clone() }];
        assert!(verdict(&jumped).contains("as far as addresses are known (70 % of the samples)"));
    }
}
