//! A free mutex that the library acquires itself is as the C library would have it, and no library in between is skipped.

use crate::watched::{compiled, run_with, watched};
use interpose::{Level, Memory};

/// What `trylock` makes of a mutex is the C library's; its bytes are what the lock's must be. In a program with one
/// thread and with more, alone and within another, in a forked child, whose thread is another.
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
fn a_library_between_this_one_and_the_c_library_is_not_passed_over() {
    let [in_between, of_program] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let Some(between) = compiled(&in_between, BETWEEN, &["-shared", "-fPIC"]) else { return };
    let Some(program) = compiled(&of_program, COUNTED, &[]) else { return };
    let memory = Memory::new(Level::Sampled, None).unwrap();
    let watched = run_with(program, memory, Some(&between));
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 100);
}
