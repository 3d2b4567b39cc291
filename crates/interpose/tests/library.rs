//! The library in programs of all kinds: they do what they would have done, and what they did is counted.

mod free_mutex;
mod nested;
mod watched;

use interpose::{Event, Kind, Level, Memory};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering::Relaxed;
use watched::{compiled, run_with, watched};

const HEAD: &str = "#define _GNU_SOURCE\n#include <errno.h>\n#include <pthread.h>\n#include <semaphore.h>\n\
    #include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <threads.h>\n\
    #include <time.h>\n#include <unistd.h>\n#include <sys/wait.h>\n#define CHECK(x) do { if (!(x)) { \
    fprintf(stderr, \"line %d: %s\\n\", __LINE__, #x); _exit(9); } } while (0)\n";

fn run(body: &str, level: Level) -> Option<watched::Watched> {
    watched(&[HEAD, body].concat(), level)
}

#[test]
fn every_acquisition_of_every_thread_is_counted_at_both_levels() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static long n;
        static void *work(void *_) { for (int i = 0; i < 20000; i++) { pthread_mutex_lock(&m); n++;
            pthread_mutex_unlock(&m); } return 0; }
        int main() { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(t + i, 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(t[i], 0); CHECK(n == 80000); return 7; }";
    for level in [Level::Sampled, Level::Full] {
        let Some(watched) = run(body, level) else { return };
        assert_eq!(watched.output.status.code(), Some(7), "{:?}", watched.output);
        assert_eq!(watched.acquisitions(), 80_000);
        let holds = watched.sum(|pair| pair.holds.count.load(Relaxed));
        let expected = if level == Level::Full { 80_000..=80_000 } else { 1_250..=1_300 };
        assert!(expected.contains(&holds), "{holds} holds at {level:?}");
        assert_eq!(watched.memory.region().header.locks.load(Relaxed), 1);
    }
}

/// What each function says, and what it says where it fails, is what it says without the library.
#[test]
fn all_kinds_of_locks_behave_as_they_do_without() {
    let body = "static struct timespec soon(clockid_t c) { struct timespec t; clock_gettime(c, &t);
            t.tv_nsec += 2000000; if (t.tv_nsec >= 1000000000) { t.tv_sec++; t.tv_nsec -= 1000000000; } return t; }
        static pthread_mutex_t shared; static void *die(void *_) { pthread_mutex_lock(&shared); return 0; }
        int main() {
            struct timespec t; pthread_mutexattr_t a; pthread_mutex_t m; int kinds[] = { PTHREAD_MUTEX_RECURSIVE,
                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
            for (int i = 0; i < 3; i++) { pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, kinds[i]);
                if (i == 1) pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
                pthread_mutex_init(&m, &a); CHECK(pthread_mutex_lock(&m) == 0);
                if (i == 0) CHECK(pthread_mutex_lock(&m) == 0 && pthread_mutex_unlock(&m) == 0);
                if (i == 1) CHECK(pthread_mutex_lock(&m) == EDEADLK);
                if (i == 2) CHECK(pthread_mutex_trylock(&m) == EBUSY);
                t = soon(CLOCK_REALTIME);
                if (i == 2) CHECK(pthread_mutex_timedlock(&m, &t) == ETIMEDOUT);
                t = soon(CLOCK_MONOTONIC);
                if (i == 2) CHECK(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
                CHECK(pthread_mutex_unlock(&m) == 0);
                if (i == 1) CHECK(pthread_mutex_unlock(&m) == EPERM);
                CHECK(pthread_mutex_destroy(&m) == 0); }
            pthread_mutexattr_init(&a); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
            pthread_mutex_init(&shared, &a); pthread_t d; pthread_create(&d, 0, die, 0); pthread_join(d, 0);
            CHECK(pthread_mutex_lock(&shared) == EOWNERDEAD && pthread_mutex_consistent(&shared) == 0);
            CHECK(pthread_mutex_unlock(&shared) == 0);
            pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER; CHECK(pthread_rwlock_rdlock(&r) == 0);
            CHECK(pthread_rwlock_tryrdlock(&r) == 0 && pthread_rwlock_trywrlock(&r) == EBUSY);
            t = soon(CLOCK_REALTIME); CHECK(pthread_rwlock_timedwrlock(&r, &t) == ETIMEDOUT);
            t = soon(CLOCK_MONOTONIC); CHECK(pthread_rwlock_clockwrlock(&r, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
            CHECK(pthread_rwlock_unlock(&r) == 0 && pthread_rwlock_unlock(&r) == 0 && pthread_rwlock_wrlock(&r) == 0);
            t = soon(CLOCK_REALTIME); CHECK(pthread_rwlock_timedrdlock(&r, &t) == EDEADLK);
            CHECK(pthread_rwlock_unlock(&r) == 0);
            pthread_spinlock_t s; pthread_spin_init(&s, 0); CHECK(pthread_spin_lock(&s) == 0);
            CHECK(pthread_spin_trylock(&s) == EBUSY && pthread_spin_unlock(&s) == 0);
            sem_t e; sem_init(&e, 0, 1); CHECK(sem_wait(&e) == 0 && sem_trywait(&e) == -1 && errno == EAGAIN);
            t = soon(CLOCK_REALTIME); CHECK(sem_timedwait(&e, &t) == -1 && errno == ETIMEDOUT);
            t = soon(CLOCK_MONOTONIC); CHECK(sem_clockwait(&e, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT);
            CHECK(sem_post(&e) == 0 && sem_wait(&e) == 0);
            pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER;
            pthread_mutex_lock(&n); t = soon(CLOCK_REALTIME);
            CHECK(pthread_cond_timedwait(&c, &n, &t) == ETIMEDOUT); t = soon(CLOCK_MONOTONIC);
            CHECK(pthread_cond_clockwait(&c, &n, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
            CHECK(pthread_mutex_trylock(&n) == EBUSY && pthread_mutex_unlock(&n) == 0);
            mtx_t x; mtx_init(&x, mtx_timed); CHECK(mtx_lock(&x) == thrd_success && mtx_trylock(&x) == thrd_busy);
            t = soon(CLOCK_REALTIME); CHECK(mtx_timedlock(&x, &t) == thrd_timedout);
            cnd_t y; cnd_init(&y); t = soon(CLOCK_REALTIME); CHECK(cnd_timedwait(&y, &x, &t) == thrd_timedout);
            CHECK(mtx_unlock(&x) == thrd_success);
            pthread_barrier_t b; pthread_barrier_init(&b, 0, 1);
            CHECK(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD);
            return 0; }";
    for level in [Level::Nothing, Level::Sampled, Level::Full] {
        let Some(watched) = run(body, level) else { return };
        watched.ended_well();
        if level == Level::Nothing {
            assert_eq!(watched.memory.region().pairs().count(), 0);
            continue;
        }
        assert_eq!(watched.sum(|pair| pair.timeouts.load(Relaxed)), 17);
        let kinds = watched.memory.region().pairs().map(|(_, pair)| Kind::of(pair.kind.load(Relaxed)).unwrap());
        let mut kinds: Vec<Kind> = kinds.collect();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds.len(), 7, "{kinds:?}");
    }
}

#[test]
fn a_forked_child_and_a_program_that_it_becomes_are_processes_of_their_own() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void pairs(int n) { for (int i = 0; i < n; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } }
        int main(int count, char **a) { int status; if (count > 1) { pairs(1000); _exit(0); }
            pairs(10); pid_t child = fork(); if (child == 0) { pairs(100); execl(\"/proc/self/exe\", a[0], \"x\", (char *)0);
                _exit(1); }
            waitpid(child, &status, 0); CHECK(status == 0); if (vfork() == 0) _exit(0); pairs(10); return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 1_120);
    let region = watched.memory.region();
    assert_eq!(region.processes().count(), 3);
    let by_process = |place: u32| {
        let here = region
            .pairs()
            .filter(|(_, pair)| region.locks[pair.lock.load(Relaxed) as usize].process.load(Relaxed) == place);
        here.map(|(place, _)| region.acquisitions(place)).sum::<u64>()
    };
    assert_eq!([0, 1, 2].map(by_process), [20, 100, 1_000]);
}

#[test]
fn a_program_with_a_malloc_of_its_own_that_locks_runs_and_is_counted() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static char heap[1 << 24]; static size_t top;
        static long calls;
        void *malloc(size_t n) { pthread_mutex_lock(&m); calls++; void *p = heap + top; top += (n + 31) & ~15UL;
            pthread_mutex_unlock(&m); return p; }
        void free(void *p) {} void *calloc(size_t a, size_t b) { return malloc(a * b); }
        void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, n); return q; }
        __attribute__((constructor)) static void early(void) { malloc(1); }
        static void *work(void *_) { for (int i = 0; i < 1000; i++) malloc(8); return 0; }
        int main() { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(t + i, 0, work, 0);
            for (int i = 0; i < 3; i++) pthread_join(t[i], 0); char b[32]; long n = calls;
            int l = snprintf(b, 32, \"%ld\\n\", n); write(1, b, l); _exit(0); }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    // What the loader allocates before the library has its place in line is not seen by anybody.
    assert!(
        watched.said()[0].abs_diff(watched.acquisitions()) <= 2,
        "{:?}, {}",
        watched.said(),
        watched.acquisitions()
    );
}

#[test]
fn what_was_recorded_outlives_a_program_that_is_killed() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        int main() { for (int i = 0; i < 5000; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
            raise(SIGKILL); return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    assert_eq!(watched.output.status.signal(), Some(9));
    assert_eq!(watched.acquisitions(), 5_000);
}

#[test]
fn places_of_threads_that_ended_are_used_again_and_lose_nothing() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
        int main() { pthread_t t; for (int i = 0; i < 3000; i++) { CHECK(pthread_create(&t, 0, work, 0) == 0);
            pthread_join(t, 0); } return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 3_000);
    assert!(watched.memory.region().threads().count() < 10);
}

/// More than a thread's first table has room for; once each, and then in another order. Where they lie is another matter
/// with each run, and so is what is in each other's way.
#[test]
fn thousands_of_locks_of_one_thread_are_counted_one_by_one() {
    let body = "enum { N = 10600 }; static pthread_mutex_t m[N]; int main() {
        for (int i = 0; i < N; i++) pthread_mutex_init(m + i, 0);
        for (int i = 0; i < 3 * N; i++) { int n = i * 7 % N; pthread_mutex_lock(m + n); pthread_mutex_unlock(m + n); }
        return 0; }";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(&folder, &[HEAD, body].concat(), &[]) else { return };
    for _ in 0..10 {
        let watched = run_with(program.clone(), Memory::new(Level::Sampled, None).unwrap(), None);
        watched.ended_well();
        let region = watched.memory.region();
        assert_eq!(region.header.locks.load(Relaxed), 10_600);
        assert!(region.pairs().all(|(place, _)| region.acquisitions(place) == 3));
        assert_eq!(watched.acquisitions(), 31_800);
        // Of three holds the first is timed.
        assert!(region.pairs().all(|(_, pair)| pair.holds.count.load(Relaxed) == 1));
    }
}

#[test]
fn a_lock_that_comes_where_another_was_destroyed_is_another_and_neither_loses_its_count() {
    let body = "static pthread_mutex_t m; static void times(int n) {
            pthread_mutex_init(&m, 0); while (n--) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
            pthread_mutex_destroy(&m); }
        int main() { times(70); times(11); times(5); return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let counts: Vec<u64> = region.pairs().map(|(place, _)| region.acquisitions(place)).collect();
    assert_eq!(counts, [70, 11, 5]);
    assert_eq!(watched.sum(|pair| pair.holds.count.load(Relaxed)), 4, "one in 64, and of each the first");
}

#[test]
fn a_thread_that_is_cancelled_while_it_waits_leaves_the_program_and_the_counts_whole() {
    let body =
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        static int cleaned; static void clean(void *_) { cleaned = 1; pthread_mutex_unlock(&m); }
        static void *work(void *_) { pthread_mutex_lock(&m); pthread_cleanup_push(clean, 0);
            for (;;) pthread_cond_wait(&c, &m); pthread_cleanup_pop(1); return 0; }
        int main() { pthread_t t; void *r; for (int i = 0; i < 20; i++) { cleaned = 0; pthread_create(&t, 0, work, 0);
            usleep(2000); pthread_cancel(t); pthread_join(t, &r); CHECK(r == PTHREAD_CANCELED && cleaned);
            CHECK(pthread_mutex_trylock(&m) == 0); pthread_mutex_unlock(&m); } return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 40);
}

#[test]
fn signal_handlers_that_post_at_any_moment_lose_nothing_and_block_nothing() {
    let body = "static sem_t s; static volatile long posts; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void handler(int _) { posts++; sem_post(&s); }
        int main() { sem_init(&s, 0, 0); signal(SIGALRM, handler); ualarm(500, 500); pthread_mutex_t many[64];
            for (int i = 0; i < 64; i++) pthread_mutex_init(many + i, 0); time_t end = time(0) + 2; long n = 0;
            while (time(0) < end) { pthread_mutex_lock(many + n % 64); pthread_mutex_unlock(many + n % 64); n++; }
            ualarm(0, 0); long got = 0; while (sem_trywait(&s) == 0) got++; CHECK(got == posts);
            printf(\"%ld\\n\", n); return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let mutexes = region.pairs().filter(|(_, pair)| pair.kind.load(Relaxed) == Kind::Mutex as u32);
    let taken: u64 = mutexes.map(|(place, _)| region.acquisitions(place)).sum();
    assert_eq!(taken, watched.said()[0]);
}

#[test]
fn waits_are_timed_and_know_who_had_the_lock() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); usleep(50000); pthread_mutex_unlock(&m); return 0; }
        int main() { pthread_t t; pthread_create(&t, 0, work, 0); usleep(10000); pthread_mutex_lock(&m);
            pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let events = region.threads().flat_map(|thread| &thread.ring[..thread.head.load(Relaxed) as usize]);
    let (holds, waits): (Vec<_>, Vec<_>) = events.partition(|event| event.pair.load(Relaxed) & Event::HOLD != 0);
    let ([hold], [event]) = (&holds[..], &waits[..]) else { panic!("{} holds, {} waits", holds.len(), waits.len()) };
    assert_eq!(hold.began.load(Relaxed), 0, "it began before anybody waited");
    assert_eq!(hold.ended.load(Relaxed), event.released.load(Relaxed));
    let (holder, _) = interpose::holder::parts(event.holder.load(Relaxed)).expect("somebody had it");
    assert_ne!(holder, event.thread.load(Relaxed));
    let [began, released, ended] = [&event.began, &event.released, &event.ended].map(|word| word.load(Relaxed));
    assert!(began < released && released < ended, "{began} {released} {ended}");
    let waits = region.pairs().map(|(place, _)| region.waits[place as usize].count.load(Relaxed));
    assert_eq!(waits.sum::<u64>(), 1);
}

#[test]
fn who_waits_in_vain_knows_who_has_the_lock_and_where_it_was_taken() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); usleep(60000); pthread_mutex_unlock(&m); return 0; }
        int main() { pthread_t t; pthread_create(&t, 0, work, 0); usleep(10000); struct timespec end;
            clock_gettime(CLOCK_REALTIME, &end); end.tv_nsec += 10000000;
            if (end.tv_nsec >= 1000000000) { end.tv_nsec -= 1000000000; end.tv_sec++; }
            CHECK(pthread_mutex_timedlock(&m, &end) != 0); pthread_join(t, 0); return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let mut events = region.threads().flat_map(|thread| &thread.ring[..thread.head.load(Relaxed) as usize]);
    let event = events.find(|event| event.pair.load(Relaxed) & Event::IN_VAIN != 0).expect("it did not get it");
    let (holder, pair) = interpose::holder::parts(event.holder.load(Relaxed)).expect("somebody had it");
    assert_ne!(holder, event.thread.load(Relaxed));
    let own = region.pairs[(event.pair.load(Relaxed) & !Event::IN_VAIN) as usize - 1].site.load(Relaxed);
    let taken_at = region.pairs.get(pair as usize).map(|pair| pair.site.load(Relaxed));
    assert!(taken_at.is_some_and(|site| site != 0 && site != own), "{taken_at:x?} {own:x}");
}

#[test]
fn a_semaphore_that_is_waited_for_at_two_places_has_the_waits_of_each() {
    let body = "static sem_t s; static volatile int asked; __attribute__((noinline)) static void here(void) {
            asked++; sem_wait(&s); asked += 0; }
        __attribute__((noinline)) static void there(void) { asked++; sem_wait(&s); asked += 0; }
        static void *work(void *_) { for (int i = 1; i <= 8; i++) { while (asked < i) usleep(100);
            usleep(20000); sem_post(&s); } return 0; }
        int main() { sem_init(&s, 0, 0); pthread_t t; pthread_create(&t, 0, work, 0);
            for (int i = 0; i < 5; i++) here(); for (int i = 0; i < 3; i++) there(); pthread_join(t, 0); return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let waiting = |(place, _)| (region.acquisitions(place), region.waits[place as usize].count.load(Relaxed));
    let mut counts: Vec<(u64, u64)> = region.pairs().map(waiting).filter(|(taken, _)| *taken > 0).collect();
    counts.sort();
    assert_eq!(counts, [(3, 3), (5, 5)]);
}

#[test]
fn a_program_that_closes_everything_and_changes_its_root_is_counted_all_the_same() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
        int main() { for (int d = 0; d < 1024; d++) close(d); if (chroot(\"/proc/self/fdinfo\") == 0) chdir(\"/\");
            pthread_t t; for (int i = 0; i < 5; i++) { if (pthread_create(&t, 0, work, 0)) return 1; pthread_join(t, 0); }
            return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 5);
}
