//! Several CPUs at once: the choice of the CPUs, the role of each, and the display on a terminal.
//!
//! That has a line for each CPU, the best and the worst, common gaps, and a map of CPU and time.

use super::cause_groups::{CauseGroup, lines};
use super::cells::Scenario;
use super::flags::Flags;
use super::record::Row;
use super::show::SMT_LOSS;
use harness::{CpuChoice, Session, SharedFlags, UsageError};
use instruments::cpus::CpuSet;
use instruments::environment::Environment;
use instruments::warning::{LeftOut, Warning};
use record::Unit;
use record::ranking::{Contender, Contest, Rank, best, worst};
use terminal::{Page, nanoseconds, percent};

/// The number of CPUs from which on one is spared: with fewer, half of the machine would not be sampled.
const SPARES_ONE: usize = 3;

/// Returns the CPUs that are sampled at once, and warnings about the others; `None` where one sampling thread is
/// requested.
///
/// Sampling threads have the usual priority, so that the machine stays usable with one on each CPU. Yet the system's
/// own work takes its time from them. So with `all` the first CPU is left to the system, where there are three or more;
/// a list is used as it is.
///
/// # Errors
/// The scenario does not support several CPUs.
pub fn chosen(
    flags: &Flags,
    shared: &SharedFlags,
    session: &Session,
) -> Result<Option<(CpuSet, Option<Warning>)>, UsageError> {
    let Some(choice) = &shared.cpus else { return Ok(None) };
    let is_all = *choice == CpuChoice::All;
    let of_one = flags.samples.is_some() || flags.remedies || flags.interval.is_some() || flags.trace.is_some();
    let beside = flags.scenario.iter().any(|scenario| *scenario != Scenario::Quiet);
    if of_one || beside {
        return match is_all {
            true => Err(UsageError(
                "--cpus all: competitors, reschedulers, --remedies, --interval, --trace and --samples need one CPU; \
                 choose it with --cpus N, or omit them"
                    .into(),
            )),
            false => Ok(None),
        };
    }
    if !is_all {
        return Ok((session.cpus.len() > 1).then(|| (session.cpus.clone(), None)));
    }
    let first = session.cpus.first().filter(|_| session.cpus.len() >= SPARES_ONE);
    let Some(first) = first else { return Ok(Some((session.cpus.clone(), None))) };
    let reason = format!("it is left to the system; --cpus {} measures it too", session.cpus);
    let warning = LeftOut { what: format!("CPU {first}"), reason }.into();
    Ok(Some((session.cpus.iter().skip(1).collect(), Some(warning))))
}

/// Describes whether the scheduler and the tick avoid the CPU, and how many interrupts it may receive.
pub fn role(cpu: usize, environment: &Environment) -> String {
    let has = |set: &Option<CpuSet>| set.as_ref().is_some_and(|cpus| cpus.contains(cpu));
    let (isolated, tickless) = (has(&environment.kernel.isolated()), has(&environment.kernel.tickless_cpus));
    words(isolated, tickless, irqs_of(cpu))
}

fn words(isolated: bool, tickless: bool, interrupts: Option<usize>) -> String {
    let kind = match (isolated, tickless) {
        (true, true) => "isolated, nohz_full",
        (true, false) => "isolated",
        (false, true) => "nohz_full",
        (false, false) => "housekeeping",
    };
    let interrupts = interrupts.map(|number| format!(", {number} IRQ{}", if number == 1 { "" } else { "s" }));
    kind.to_owned() + &interrupts.unwrap_or_default()
}

/// Returns the number of interrupts whose affinity has this CPU; `None` where the system does not report them.
pub fn irqs_of(cpu: usize) -> Option<usize> {
    let folders = std::fs::read_dir("/proc/irq").ok()?.flatten();
    let list = |folder: &std::fs::DirEntry| {
        let path = folder.path();
        let text = ["effective_affinity_list", "smp_affinity_list"]
            .iter()
            .find_map(|name| std::fs::read_to_string(path.join(name)).ok().filter(|text| !text.trim().is_empty()));
        text?.trim().parse::<CpuSet>().ok()
    };
    Some(folders.filter_map(|folder| list(&folder)).filter(|cpus| cpus.contains(cpu)).count())
}

pub fn show(rows: &[Row], page: &Page) -> String {
    [table(rows, page), extremes(rows), common(rows, page), causes(rows, page), map(rows, page)].concat()
}

fn table(rows: &[Row], page: &Page) -> String {
    let over = |count: Option<u64>| count.map_or_else(String::new, terminal::count);
    let lines = rows.iter().map(|row| {
        vec![
            format!("CPU {}", row.cpu),
            percent(row.lost_share),
            row.width_lost_share.map_or_else(String::new, percent),
            nanoseconds(row.longest_us * 1e3),
            over(row.over_1us),
            over(row.over_10us),
            over(row.over_100us),
            over(row.over_1ms),
            row.role.clone().unwrap_or_default(),
        ]
    });
    let header = ["", "lost", SMT_LOSS, "longest", ">1 µs", ">10 µs", ">100 µs", ">1 ms", "role"];
    page.cut_lines(&terminal::table(&header, lines))
}

/// Describes the CPUs that are shown to lose the least and the most.
fn extremes(rows: &[Row]) -> String {
    let contest = Contest {
        among: String::new(),
        figure: "lost",
        unit: Unit::Share,
        more_is_better: false,
        // Two CPUs may differ by any amount.
        scatter: 0.0,
    };
    let contender = |row: &Row| Contender {
        lock: format!("CPU {}", row.cpu),
        value: Some(row.lost_share),
        interval: row.lost().interval,
        resolution: 0.0,
    };
    let ranks = contest.ranked(rows.iter().map(contender).collect());
    let words = |rank: &Rank| format!("{} ({})", rank.lock, rank.value_words());
    match (best(&ranks).map(words), worst(&ranks).map(words)) {
        (Some(best), Some(worst)) => format!("Best: {best}; worst: {worst}.\n\n"),
        (Some(best), None) => format!("Best: {best}; no CPU is shown to be the worst.\n\n"),
        (None, Some(worst)) => format!("Worst: {worst}; no CPU is shown to be the best.\n\n"),
        (None, None) => "No CPU is shown to lose less or more than all others.\n\n".to_owned(),
    }
}

/// Describes gaps that hit several CPUs at the same moment.
fn common(rows: &[Row], page: &Page) -> String {
    let found = rows.iter().filter_map(|row| Some((row.cpu, row.together.as_ref()?)));
    let (common, chance): (Vec<_>, Vec<_>) = found.partition(|(_, together)| together.is_common);
    let window = |us: f64| nanoseconds(us * 1e3);
    let mut text = String::new();
    for (cpu, together) in &common {
        let words = format!(
            "CPU {cpu}: {} of {} gaps began within {} of a gap on another CPU; expected by chance: {}.",
            terminal::count(together.together as u64),
            terminal::count(together.gaps as u64),
            window(together.window_us),
            Unit::Number.rounded(together.by_chance)
        );
        text += &terminal::wrapped("", "  ", &words, page);
    }
    if let (true, Some((_, together))) = (common.is_empty(), chance.first()) {
        let window = window(together.window_us);
        let words = format!("No more gaps begin within {window} of each other than chance predicts.");
        text += &terminal::wrapped("", "  ", &words, page);
    }
    text + "\n"
}

const CAUSES: usize = 3;

fn causes(rows: &[Row], page: &Page) -> String {
    let line = |row: &Row| {
        let named = lines(&row.causes, CAUSES, CauseGroup::label);
        let named: Vec<String> = named.iter().map(|line| format!("{} {}", line.label, percent(line.share))).collect();
        let words = format!("CPU {}: {}", row.cpu, named.join("; "));
        terminal::wrapped("", "  ", &words, page)
    };
    let lines: String = rows.iter().filter(|row| !row.causes.is_empty()).map(line).collect();
    lines + "\n"
}

/// The shades from none to all, by powers of about three.
const SHADES: [(f64, char); 8] = [
    (0.000_3, ' '),
    (0.001, '.'),
    (0.003, ':'),
    (0.01, '-'),
    (0.03, '='),
    (0.1, '+'),
    (0.3, '#'),
    (f64::INFINITY, '@'),
];

fn map(rows: &[Row], page: &Page) -> String {
    let shade = |share: &f64| SHADES.iter().find(|(below, _)| share < below).map_or('@', |(_, letter)| *letter);
    let longest = rows.iter().map(|row| row.lost_by_time.len()).max().unwrap_or(0);
    if longest == 0 {
        return String::new();
    }
    let line = |row: &Row| {
        format!("CPU {:>3} |{:<longest$}|\n", row.cpu, row.lost_by_time.iter().map(shade).collect::<String>())
    };
    let lines: String = rows.iter().map(line).collect();
    lines + &terminal::wrapped("", "  ", &legend(), page)
}

/// Describes the shades: each from the share at which the one before it ends.
fn legend() -> String {
    let from = SHADES.iter().zip(&SHADES[1..]);
    let shades = from.map(|((from, _), (_, letter))| format!("'{letter}' from {}", percent(*from)));
    let shades: Vec<String> = shades.collect();
    format!("CPU time lost in each part of the run: blank below {}, {}", percent(SHADES[0].0), shades.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::sample::{environment, row};
    use instruments::statistics::Interval;

    #[test]
    fn cpu_of_an_isolated_partition_is_isolated() {
        let mut environment = environment();
        environment.kernel.partitioned_cpus = Some(CpuSet::single(2));
        assert!(role(2, &environment).starts_with("isolated"));
        assert!(role(1, &environment).starts_with("housekeeping"));
    }

    #[test]
    fn role_of_a_cpu_names_its_isolation() {
        assert_eq!(words(false, false, Some(12)), "housekeeping, 12 IRQs");
        assert_eq!(words(true, true, Some(1)), "isolated, nohz_full, 1 IRQ");
        assert_eq!(words(true, false, None), "isolated");
    }

    #[test]
    fn legend_of_the_map_has_the_share_of_each_shade() {
        let text = legend();
        assert!(text.contains(": blank below 0.030 %, '.' from 0.030 %, ':' from 0.10 %, "), "{text}");
        assert!(text.ends_with("'#' from 10.0 %, '@' from 30.0 %"), "{text}");
    }

    fn cpu(cpu: usize, lost_share: f64, lost_ci_share: Option<Interval>) -> Row {
        Row { cpu, lost_share, lost_ci_share, ..row("quiet") }
    }

    #[test]
    fn overlapping_cpus_have_no_best_and_no_worst() {
        let ends = |share: f64| Some(Interval::new(share * 0.9, share * 1.1));
        let near = [cpu(0, 0.051, ends(0.051)), cpu(1, 0.054, ends(0.054))];
        assert_eq!(extremes(&near), "No CPU is shown to lose less or more than all others.\n\n");
        let far = [cpu(0, 0.051, ends(0.051)), cpu(1, 0.154, ends(0.154))];
        assert_eq!(extremes(&far), "Best: CPU 0 (5.1 %); worst: CPU 1 (15.4 %).\n\n");
        let unknown = [cpu(0, 0.051, None), cpu(1, 0.154, None)];
        assert_eq!(extremes(&unknown), extremes(&near));
    }
}
