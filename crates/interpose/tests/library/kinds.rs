//! Locks of all kinds: each acquisition is counted, and each call says what it says without the library.

use super::run;
use interpose::{Kind, Level};
use std::sync::atomic::Ordering::Relaxed;

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

const ALL_KINDS: &str = "static struct timespec soon(clockid_t c) { struct timespec t; clock_gettime(c, &t);
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

/// What each function says, and what it says where it fails, is what it says without the library.
#[test]
fn all_kinds_of_locks_behave_as_they_do_without() {
    for level in [Level::Nothing, Level::Sampled, Level::Full] {
        let Some(watched) = run(ALL_KINDS, level) else { return };
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
