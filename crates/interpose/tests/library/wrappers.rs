//! Functions that only acquire a lock: their callers are the call sites.

use super::{HEAD, compiled, run_with};
use interpose::{Level, Memory};
use std::sync::atomic::Ordering::Relaxed;

/// The ways in which compilers keep a frame: by the frame pointer alone, by the stack pointer, by both.
const FLAGS: [&[&str]; 3] = [&["-O0"], &["-O2"], &["-O2", "-fno-omit-frame-pointer"]];

/// The most acquisitions whose site is not known yet.
const UNDECIDED: u64 = 3;

/// Returns the numbers of acquisitions by lock and call site, the most first, and those of the first sites of the locks.
fn counts(body: &str, flags: &[&str]) -> Option<(Vec<u64>, Vec<u64>)> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, &[HEAD, body].concat(), flags)?;
    let watched = run_with(program, Memory::new(Level::Full, None).unwrap(), None);
    watched.ended_well();
    let region = watched.memory.region();
    let mut all: Vec<u64> = region.pairs().map(|(place, _)| region.acquisitions(place)).collect();
    let is_first = |lock: usize, site: u64| region.locks[lock].first_site.load(Relaxed) == site;
    let of_first =
        region.pairs().filter(|(_, pair)| is_first(pair.lock.load(Relaxed) as usize, pair.site.load(Relaxed)));
    let mut first: Vec<u64> = of_first.map(|(place, _)| region.acquisitions(place)).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    first.sort_unstable_by(|a, b| b.cmp(a));
    Some((all, first))
}

/// Two functions around the C library's, of which one saves registers, and two callers.
const NESTED: &str = "typedef struct { pthread_mutex_t m; } guard; static guard a, b; static volatile long x;
    __attribute__((noinline)) int inner(guard *g) { int code = pthread_mutex_lock(&g->m); x++; return code; }
    __attribute__((noinline)) int enter(guard *g, int i) { x += i; int code = inner(g); x -= i; return code; }
    __attribute__((noinline)) void leave(guard *g) { pthread_mutex_unlock(&g->m); x++; }
    __attribute__((noinline)) void often(void) { enter(&a, 1); x++; leave(&a); }
    __attribute__((noinline)) void seldom(void) { enter(&a, 2); enter(&b, 3); x++; leave(&b); leave(&a); }
    int main() { pthread_mutex_init(&a.m, 0); pthread_mutex_init(&b.m, 0);
        for (int i = 0; i < 300; i++) { often(); if (i % 3 == 0) seldom(); } return 0; }";

#[test]
fn caller_of_a_function_that_only_acquires_is_the_call_site() {
    for flags in FLAGS {
        let Some((all, first)) = counts(NESTED, flags) else { return };
        let [often, seldom, inner] = all[..3] else { panic!("{all:?}") };
        assert_eq!(all.iter().sum::<u64>(), 500, "{flags:?}: {all:?}");
        for (count, most) in [(often, 300), (seldom, 100), (inner, 100)] {
            assert!(count <= most && count + UNDECIDED >= most, "{flags:?}: {all:?}");
        }
        // Each lock is named by such a caller, although the first acquisitions were noted elsewhere.
        assert!(first[1] + UNDECIDED >= 100, "{flags:?}: {first:?}");
    }
}

/// A lock that two functions use: which of them is the first differs from run to run.
const EITHER_FIRST: &str = "static pthread_mutex_t *m; static volatile long x;
    __attribute__((noinline)) void get(void) { pthread_mutex_lock(m); x++; pthread_mutex_unlock(m); }
    __attribute__((noinline)) void put(void) { pthread_mutex_lock(m); x--; pthread_mutex_unlock(m); }
    int main() { m = malloc(sizeof *m); pthread_mutex_init(m, 0); void (*calls[2])(void) = {get, put};
        for (int i = 0; i < 20; i++) { calls[(i + FIRST) % 2](); } return 0; }";

#[test]
fn lowest_call_site_names_the_lock_whichever_is_first() {
    for first in ["-DFIRST=0", "-DFIRST=1"] {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = compiled(&folder, &[HEAD, EITHER_FIRST].concat(), &[first]) else { return };
        let watched = run_with(program, Memory::new(Level::Full, None).unwrap(), None);
        watched.ended_well();
        let region = watched.memory.region();
        let sites: Vec<u64> = region.pairs().map(|(_, pair)| pair.site.load(Relaxed)).collect();
        let lock = region.pairs().next().unwrap().1.lock.load(Relaxed) as usize;
        assert_eq!(sites.len(), 2, "{first}");
        assert_eq!(Some(&region.locks[lock].first_site.load(Relaxed)), sites.iter().min(), "{first}: {sites:?}");
    }
}

/// A function that acquires and releases, by itself, by another function, and as its last step.
#[test]
fn function_that_releases_the_lock_itself_is_the_call_site() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static volatile long x;
        __attribute__((noinline)) void leave(void) { pthread_mutex_unlock(&m); x++; }
        __attribute__((noinline)) void own(void) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); x++; }
        __attribute__((noinline)) void by_other(void) { pthread_mutex_lock(&m); x++; leave(); x++; }
        __attribute__((noinline)) int last(void) { pthread_mutex_lock(&m); x++; return pthread_mutex_unlock(&m); }
        int main() { for (int i = 0; i < 50; i++) { own(); x++; own(); by_other(); x++; by_other(); last(); x++; last(); }
            return 0; }";
    for flags in FLAGS {
        let Some((all, _)) = counts(body, flags) else { return };
        assert_eq!(all, [100, 100, 100], "{flags:?}");
    }
}

/// Threads acquire by a function and leave the release to another thread, and leave the lock by `longjmp`.
#[test]
fn release_elsewhere_or_after_a_jump_is_counted() {
    let body = "#include <setjmp.h>
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static jmp_buf out; static volatile long x;
        __attribute__((noinline)) int enter(void) { int code = pthread_mutex_lock(&m); x++; return code; }
        static void *work(void *_) { enter(); return 0; }
        __attribute__((noinline)) void jumps(void) { enter(); longjmp(out, 1); }
        int main() { pthread_t t; for (int i = 0; i < 100; i++) { pthread_create(&t, 0, work, 0); pthread_join(t, 0);
                pthread_mutex_unlock(&m); }
            for (volatile int i = 0; i < 100; i++) if (setjmp(out) == 0) jumps(); else pthread_mutex_unlock(&m);
            return 0; }";
    for flags in FLAGS {
        let Some((all, _)) = counts(body, flags) else { return };
        assert_eq!(all.iter().sum::<u64>(), 200, "{flags:?}: {all:?}");
    }
}
