/* pthread_spin_*: private, shared between processes, and one that nobody initialised. */
#include "conform.h"

static void *tries(void *l) { return (void *)(long)pthread_spin_trylock(l); }
static void *takes_and_frees(void *l) {
    int code = pthread_spin_lock(l);
    pthread_spin_unlock(l);
    return (void *)(long)code;
}
static void *frees(void *l) { return (void *)(long)pthread_spin_unlock(l); }

static void common(pthread_spinlock_t *l) {
    IS("lock a free one", pthread_spin_lock(l));
    IS("another tries it", elsewhere(tries, (void *)l));
    IS("so does who has it", pthread_spin_trylock(l));
    IS("unlock", pthread_spin_unlock(l));
    IS("another has it then", elsewhere(takes_and_frees, (void *)l));
    IS("try a free one", pthread_spin_trylock(l));
    pthread_t other;
    void *result;
    pthread_create(&other, 0, takes_and_frees, (void *)l);
    nap_ms(20);
    IS("unlock one that is waited for", pthread_spin_unlock(l));
    pthread_join(other, &result);
    IS("who waited has it", (int)(long)result);
    IS("lock it", pthread_spin_lock(l));
    IS("another frees it", elsewhere(frees, (void *)l));
    IS("and it is free", pthread_spin_trylock(l));
    IS("unlock it", pthread_spin_unlock(l));
}

static pthread_spinlock_t many;
static long sum;
static void *counts(void *unused) {
    for (int i = 0; i < 4000; i++) {
        if (i % 5) {
            pthread_spin_lock(&many);
        } else {
            while (pthread_spin_trylock(&many)) sched_yield();
        }
        sum++;
        /* Who has it leaves its CPU: more threads than CPUs. */
        if (i % 512 == 0) sched_yield();
        pthread_spin_unlock(&many);
    }
    return unused;
}

static void between_processes(const char *name, int shared) {
    chapter = name;
    struct both { pthread_spinlock_t l; long sum; } *both;
    both = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    IS("initialised", pthread_spin_init(&both->l, shared));
    pid_t pids[3];
    for (int i = 0; i < 3; i++) {
        if (!(pids[i] = fork())) {
            alarm(100);
            for (int j = 0; j < 2000; j++) {
                pthread_spin_lock(&both->l);
                both->sum++;
                pthread_spin_unlock(&both->l);
                if (j % 256 == 0) sched_yield();
            }
            _exit(0);
        }
    }
    int failed = 0;
    for (int i = 0, status; i < 3; i++) failed |= waitpid(pids[i], &status, 0) < 0 || status;
    HOLDS("three processes count", !failed && both->sum == 6000);
}

int main(void) {
    alarm(300);
    for (int shared = 0; shared < 2; shared++) {
        chapter = shared ? "shared" : "private";
        IS("initialised", pthread_spin_init(&many, shared));
        common(&many);
        pthread_t threads[4];
        sum = 0;
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, counts, 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        HOLDS("none was lost", sum == 16000);
        IS("destroyed", pthread_spin_destroy(&many));
        IS("initialised anew", pthread_spin_init(&many, shared));
        IS("and locked", pthread_spin_lock(&many));
        IS("destroyed while it is locked", pthread_spin_destroy(&many));
    }
    between_processes("private, in memory that processes share", PTHREAD_PROCESS_PRIVATE);
    between_processes("shared between processes", PTHREAD_PROCESS_SHARED);
    /* The C library's own bytes of a free one, as old programs write them. */
    chapter = "not initialised";
    pthread_spinlock_t theirs, *by_hand = &theirs;
#if defined(__x86_64__)
    *by_hand = 1;
#else
    *by_hand = 0;
#endif
    common(by_hand);
    return 0;
}
