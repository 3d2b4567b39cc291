//! A pool that waits for itself: each of its workers is in a task that waits, and no thread outside can end these waits.
//!
//! A worker is known by its call path: a function calls tasks through a pointer, or a library calls a function of the
//! program further in than where its thread began. A worker without a task waits in the calling function itself. In Java,
//! all pools have the same calling function, and the numbered names of its threads keep them apart.

use crate::case::Case;
use crate::explanation::{Finding, Place};
use crate::snapshot::{Frame, Language, Owner, Process, Thread, Wait};
use std::collections::BTreeMap;

pub fn find(case: &Case<'_>) -> Option<Finding> {
    let mut pools: BTreeMap<(u32, String, &str), Vec<usize>> = BTreeMap::new();
    for node in case.hung() {
        let (process, thread) = case.nodes[node];
        // A goroutine is not a worker: each has a function of the runtime that begins it.
        let task = task(thread).filter(|_| !thread.is_goroutine && waits_for_result(&thread.wait));
        if let Some((dispatcher, _)) = task {
            let name = dispatcher.function.clone().unwrap_or_default();
            pools.entry((process.pid, name, stem(process, thread))).or_default().push(node);
        }
    }
    pools.retain(|pool, workers| !has_other_worker(case, pool, workers));
    // A single thread can be in a function that is called through a pointer without being a pool.
    let largest = pools.into_values().max_by_key(Vec::len)?;
    let (dispatcher, task) = task(case.nodes[largest[0]].1)?;
    let waits_for_pool = largest.len() > 1 || is_library(dispatcher);
    let places = Place::of(dispatcher).zip(Place::of(task)).filter(|_| waits_for_pool);
    places.map(|(dispatcher, task)| Finding::Pool {
        members: largest.into_iter().map(|node| case.member(node)).collect(),
        dispatcher,
        task,
    })
}

/// Returns whether a thread of the process is in the calling function, and in no task that waits.
fn has_other_worker(case: &Case<'_>, (pid, dispatcher, name): &(u32, String, &str), workers: &[usize]) -> bool {
    let is_other = |node: usize| {
        let (process, thread) = case.nodes[node];
        process.pid == *pid && stem(process, thread) == *name && !workers.contains(&node)
    };
    let is_in = |thread: &Thread| thread.frames.iter().any(|frame| frame.function.as_ref() == Some(dispatcher));
    (0..case.nodes.len()).any(|node| is_other(node) && is_in(case.nodes[node].1))
}

/// Returns the name of a thread of Java without its number.
fn stem<'a>(process: &Process, thread: &'a Thread) -> &'a str {
    let is_java = process.language == Language::Java;
    if is_java { thread.name.trim_end_matches(|letter: char| letter.is_ascii_digit()) } else { "" }
}

fn waits_for_result(wait: &Wait) -> bool {
    match wait {
        Wait::Event { .. } => true,
        Wait::Lock(lock) => matches!(lock.owner, Owner::Unknown),
        _ => false,
    }
}

/// Returns the function that calls tasks, and the task.
fn task(thread: &Thread) -> Option<(&Frame, &Frame)> {
    let frames = &thread.frames;
    let own: Vec<usize> = (0..frames.len()).rev().filter(|place| frames[*place].is_own).collect();
    let first = *own.first()?;
    // The library that called the program's first function, if it is not the one that begins threads.
    let mut outside = frames[first + 1..].iter().filter(|frame| is_library(frame));
    let is_java = |frame: &Frame| frame.source.as_deref().is_some_and(|source| source.contains(".java:"));
    // The functions between a worker of Java and its task are those of the task.
    let library = outside.next().map(|inner| outside.next_back().filter(|outer| is_java(outer)).unwrap_or(inner));
    if let Some(library) = library {
        return Some((library, &frames[first]));
    }
    let is_task = |pair: &&[usize]| frames[pair[1] + 1..=pair[0]].iter().any(|frame| frame.calls_by_pointer);
    let pair = own.windows(2).find(is_task)?;
    Some((&frames[pair[0]], &frames[pair[1]]))
}

/// Returns whether a function is of a library that has its own threads: no header, and no language's way to begin threads.
fn is_library(frame: &Frame) -> bool {
    const BEGINNINGS: [&str; 4] = ["/threading.py:", "/rustc/", "/rustlib/", "/include/"];
    let source = frame.source.as_deref().unwrap_or_default();
    if frame.function.as_deref().is_some_and(|function| function.starts_with("java.lang.Thread.")) {
        return false;
    }
    !frame.is_own && !source.is_empty() && !BEGINNINGS.iter().any(|part| source.contains(part)) && !is_glibc(source)
}

/// The sources of the C library have relative paths.
fn is_glibc(source: &str) -> bool {
    source.starts_with("./") || source.starts_with("../")
}
