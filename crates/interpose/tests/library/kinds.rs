//! Locks of all kinds: each acquisition is counted, and each call says what it says without the library. A free mutex
//! that the library acquires itself is as the C library would have it, and no library in between is skipped.

use super::{compiled, run, run_with, watched};
use interpose::{Kind, Level, Memory};
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

/// The C library marks a shared condition variable at a place that depends on its version.
#[test]
fn only_shared_conditions_of_two_processes_are_one_lock() {
    for (sharing, expected) in [("PTHREAD_PROCESS_SHARED", 1), ("PTHREAD_PROCESS_PRIVATE", 2)] {
        let body = "#include <sys/mman.h>
            static pthread_mutex_t m; static struct timespec past = { 1, 0 };
            static void meet(pthread_cond_t *c) { for (int i = 0; i < 9; i++) { pthread_mutex_lock(&m);
                CHECK(pthread_cond_timedwait(c, &m, &past) == ETIMEDOUT); pthread_mutex_unlock(&m); } }
            int main() { pthread_condattr_t s; pthread_condattr_init(&s); pthread_condattr_setpshared(&s, SHARING);
                pthread_cond_t *c = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                CHECK(pthread_cond_init(c, &s) == 0); int status;
                pid_t child = fork(); meet(c); if (child == 0) _exit(0);
                waitpid(child, &status, 0); CHECK(status == 0); return 0; }";
        let Some(watched) = run(&body.replace("SHARING", sharing), Level::Sampled) else { return };
        watched.ended_well();
        let locks = &watched.memory.region().locks;
        let conditions = locks.iter().filter(|lock| lock.kind.load(Relaxed) == Kind::Cond as u32);
        assert_eq!(conditions.count(), expected, "{sharing}");
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

/// Checks that the results of each function, also of its failures, are the same as without the library.
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

/// A program that compares mutexes after `trylock`, which is the C library's, and after `lock`: their bytes must be the
/// same, in a program with one thread and with more, alone and within another, in a forked child, whose thread is
/// another.
const SAME: &str = "#define _GNU_SOURCE
    #include <pthread.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
    static int differs(void) {
        pthread_mutex_t all[] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
            PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP };
        for (int i = 0; i < 4; i++) for (int turn = 0; turn < 3; turn++) {
            pthread_mutex_t taken = all[i], tried = all[i];
            pthread_mutex_lock(&taken); pthread_mutex_trylock(&tried);
            if (memcmp(&taken, &tried, sizeof taken)) return 1;
            pthread_mutex_unlock(&taken); pthread_mutex_unlock(&tried);
            if (memcmp(&taken, &all[i], sizeof taken)) return 2;
        }
        return 0;
    }
    static int all(void) {
        int alone = differs(); pthread_mutex_lock(&outer); int within = differs(); pthread_mutex_unlock(&outer);
        return alone ? alone : within ? 4 + within : 0;
    }
    static void *work(void *_) { return (void *)(long)all(); }
    int main() {
        int one = all(); if (one) return one;
        pthread_t t; void *several; pthread_create(&t, 0, work, 0); int main_too = all(); pthread_join(t, &several);
        if (main_too || several) return 16;
        pid_t child = fork(); if (child == 0) _exit(all());
        int status; waitpid(child, &status, 0); return status ? 32 : 0;
    }";

#[test]
fn it_is_as_the_c_library_leaves_it() {
    for level in [Level::Sampled, Level::Full] {
        let Some(watched) = watched(SAME, level) else { return };
        watched.ended_well();
    }
}

/// Counts what goes through it.
const BETWEEN: &str = "#define _GNU_SOURCE
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdlib.h>
    int taken, released;
    #define NEXT(name) ((int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, name))
    int pthread_mutex_lock(pthread_mutex_t *m) { taken++; return NEXT(\"pthread_mutex_lock\")(m); }
    int pthread_mutex_trylock(pthread_mutex_t *m) { int code = NEXT(\"pthread_mutex_trylock\")(m);
        taken += code == 0; return code; }
    int pthread_mutex_unlock(pthread_mutex_t *m) { released++; return NEXT(\"pthread_mutex_unlock\")(m); }";

const COUNTED: &str = "#define _GNU_SOURCE
    #include <dlfcn.h>
    #include <pthread.h>
    static int is(const char *name) { int *count = dlsym(RTLD_DEFAULT, name); return count ? *count : -1; }
    int main() {
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int taken = is(\"taken\"), released = is(\"released\");
        for (int i = 0; i < 100; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
        return !(taken >= 0 && is(\"taken\") == taken + 100 && is(\"released\") == released + 100);
    }";

#[test]
fn library_between_interposer_and_libc_is_called() {
    let [in_between, of_program] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let Some(between) = compiled(&in_between, BETWEEN, &["-shared", "-fPIC"]) else { return };
    let Some(program) = compiled(&of_program, COUNTED, &[]) else { return };
    let memory = Memory::new(Level::Sampled, None).unwrap();
    let watched = run_with(program, memory, Some(&between));
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 100);
}
