//! The measurement: the threads on a CPU are sampled until the program ends. It prints nothing.

use super::super::attach::{Target, Targets};
use super::super::flags::Level;
use super::super::measure::Running;
use super::super::plan::Plan;
use super::super::words_to_watch::Request;
use super::flags::Flags;
use super::record::Parameters;
use crate::trace::sharing::named::Namer;
use crate::trace::sharing::record::Row;
use blame::names::{Names, map_of, parse};
use blame::sampling::clock::Pace;
use blame::sampling::profile::Profile;
use blame::sampling::threads;
use blame::{AFTER_THE_END, Allowance, Lost};
use harness::{Progress, Session, UsageError};
use instruments::warning::Warning;
use launch::{PATIENCE, Program};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The result of the measurement.
pub struct Measured {
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
    /// The program's exit status, as a shell gives it.
    pub status: Option<u8>,
}

/// Period at which memory maps and children are looked for.
const MAPS_PERIOD: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_millis(5);

/// Runs the program, or attaches to the process, and samples it.
pub fn run(flags: &Flags, session: &Session, progress: &Progress) -> anyhow::Result<Measured> {
    if !cfg!(target_arch = "x86_64") {
        return Err(UsageError("cache lines are seen on x86-64 only: addresses are decoded there".into()).into());
    }
    let (mut child, mut targets) = match flags.pid {
        Some(pid) => (None, Targets::of_pids(&[pid])?),
        None => {
            let plan = plan(flags, session)?;
            let child = Running::start(&plan, None, &session.interruption)?;
            let words = plan.program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let targets = Targets::of_child(Target::of_child(child.pid(), words, None));
            (Some(child), targets)
        }
    };
    let allowance = Allowance::of_run(session.interruption.shared_flag());
    let (mut profile, mut names) = (Profile::with_pace(Pace::Dense), Names::within(&allowance));
    let (began, mut next_maps, mut next_sample) = (Instant::now(), Instant::now(), Instant::now());
    let mut maps: HashMap<u32, Vec<u8>> = HashMap::new();
    let is_over = |targets: &Targets| targets.are_over() || session.interruption.is_requested();
    while !is_over(&targets) && session.seconds.is_none_or(|budget| began.elapsed() < budget) {
        let now = Instant::now();
        if now >= next_maps {
            targets.look();
            adopt_children(&mut targets);
            for (slot, target) in targets.alive() {
                let Some(map) = map_of(target.pid).filter(|map| maps.get(&target.pid) != Some(map)) else { continue };
                names.learn(slot, Some(target.pid), &map);
                profile.learn(target.pid, &parse(&map));
                maps.insert(target.pid, map);
            }
            progress.minute(|| format!("{} samples", terminal::count(profile.lines().totals.samples)));
            next_maps = now + MAPS_PERIOD;
        }
        let now_s = (now - began).as_secs_f64();
        profile.end_window(now_s);
        if now >= next_sample {
            let pids: Vec<u32> = targets.alive().map(|(_, target)| target.pid).collect();
            next_sample = now + profile.sample(&pids, None, now_s);
        }
        let has_ended = child.as_mut().is_some_and(Running::has_ended);
        match &mut child {
            Some(child) if !has_ended => child.wait(TICK),
            Some(_) if targets.alive().all(|(_, target)| !target.is_alive()) => break,
            _ => std::thread::sleep(TICK),
        }
    }
    let elapsed_s = began.elapsed().as_secs_f64();
    profile.end_window(f64::INFINITY);
    if let Some(child) = &mut child {
        child.end(None, flags.launched.patience.unwrap_or(PATIENCE), &session.interruption);
    }
    allowance.end_within(AFTER_THE_END);
    let known_as = targets.all().map(|(slot, target)| (target.pid, slot)).collect();
    let rows =
        Namer { profile: &profile, names: &mut names, known_as: &known_as }.rows(profile.samples().ready_share());
    let totals = profile.lines().totals;
    let ran_s = profile.ran_s();
    let target = targets.first();
    let parameters = Parameters {
        program: target.words.clone(),
        attached_pid: flags.pid,
        exit_status: child.as_ref().and_then(Running::exit_status),
        exit_signal: child.as_ref().and_then(Running::exit_signal),
        elapsed_s,
        period_ns: Pace::Dense.period_ns(),
        sampled_share: (ran_s > 0.0).then(|| (totals.ran_ns as f64 / 1e9 / ran_s).min(1.0)),
        refusal: profile.refused_clock().map(str::to_owned),
        lost: Lost { samples: totals.lost, ..Lost::default() },
    };
    let status = child.as_ref().and_then(Running::shell_status);
    if let Some(reason) = &parameters.refusal {
        anyhow::bail!(
            "the kernel refused samples of CPU time ({reason}): run `sudo sysctl kernel.perf_event_paranoid=2` for your \
             own processes, or run contend as root"
        );
    }
    Ok(Measured { parameters, rows, warnings: Vec::new(), status })
}

fn plan(flags: &Flags, session: &Session) -> anyhow::Result<Plan> {
    Ok(Plan {
        program: Program::find(&flags.launched.program)?,
        level: Level::Sampled,
        budget: session.seconds,
        interval: None,
        every: None,
        deadline: Duration::MAX,
        patience: flags.launched.patience,
        exports: Vec::new(),
        all: false,
        words: Request::of(&[], 0.0)?,
        preempted: false,
    })
}

/// Adds the processes that the known ones have started.
fn adopt_children(targets: &mut Targets) {
    let known: Vec<u32> = targets.alive().map(|(_, target)| target.pid).collect();
    for process in &known {
        for thread in threads(*process) {
            let children = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
            let children: Vec<u32> =
                children.iter().flat_map(|text| text.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect();
            children.into_iter().filter(|child| !known.contains(child)).for_each(|child| targets.adopt(child));
        }
    }
}
