//! Programs that fork, are killed, have their own `malloc`, or close everything.

use super::run;
use interpose::Level;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn forked_child_and_its_exec_are_separate_processes() {
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

/// Locks in the forking thread after another thread of the child has made the child's first call.
#[test]
fn the_forking_thread_of_a_child_is_the_owner_of_what_it_locks() {
    let body = "static pthread_mutex_t m;
        static void *work(void *_) { CHECK(pthread_mutex_lock(&m) == 0); CHECK(pthread_mutex_unlock(&m) == 0); return 0; }
        int main() { int status; pthread_t t; pthread_mutexattr_t a; pthread_mutexattr_init(&a);
            pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK); pthread_mutex_init(&m, &a); work(0);
            pid_t child = fork(); if (child == 0) { pthread_create(&t, 0, work, 0); pthread_join(t, 0); work(0); _exit(7); }
            waitpid(child, &status, 0); CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7); return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 3);
}

#[test]
fn program_with_a_locking_malloc_runs_and_is_counted() {
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
    // The allocations of the loader before the library is in place are not seen.
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
fn program_that_closes_all_and_changes_root_is_counted() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
        int main() { for (int d = 0; d < 1024; d++) close(d); if (chroot(\"/proc/self/fdinfo\") == 0) chdir(\"/\");
            pthread_t t; for (int i = 0; i < 5; i++) { if (pthread_create(&t, 0, work, 0)) return 1; pthread_join(t, 0); }
            return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 5);
}
