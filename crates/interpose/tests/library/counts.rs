//! Threads and locks that come and go, are cancelled or interrupted: no count is lost.

use super::{HEAD, run};
use crate::watched::{compiled, run_with};
use interpose::{Kind, Level, Memory};
use std::sync::atomic::Ordering::Relaxed;

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

/// More than a thread's first table has room for; once each, and then in another order. Where they lie is another
/// matter with each run, and so is what is in each other's way.
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
        // The first of three holds is timed, and the others only if it was long: by chance, on a busy machine.
        let once = region.pairs().filter(|(_, pair)| pair.holds.count.load(Relaxed) == 1).count();
        assert!(once > 10_600 * 9 / 10, "{once}");
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
