/* pthread_mutex_*, from the text of POSIX and the C library's manual: every kind, every way to take one, every error. */
#include "conform.h"

static void *tries(void *m) { return (void *)(long)pthread_mutex_trylock(m); }
static void *frees(void *m) { return (void *)(long)pthread_mutex_unlock(m); }
static void *takes(void *m) { return (void *)(long)pthread_mutex_lock(m); }
static void *takes_and_frees(void *m) {
    int code = pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    return (void *)(long)code;
}

static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                            PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_DEFAULT};
static const char *names[] = {"normal", "recursive", "error-checking", "adaptive", "default"};

static void make(pthread_mutex_t *m, int kind) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, kind);
    IS("initialised", pthread_mutex_init(m, &a));
    pthread_mutexattr_destroy(&a);
}

/* What all kinds have in common. */
static void common(int kind) {
    pthread_mutex_t m;
    make(&m, kind);
    IS("lock a free one", pthread_mutex_lock(&m));
    IS("try one that another has", elsewhere(tries, &m));
    IS("destroy a locked one", pthread_mutex_destroy(&m));
    IS("unlock", pthread_mutex_unlock(&m));
    IS("another locks and unlocks it then", elsewhere(takes_and_frees, &m));
    IS("try a free one", pthread_mutex_trylock(&m));
    IS("unlock after a try", pthread_mutex_unlock(&m));
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), late = in_ms(CLOCK_REALTIME, -20);
    struct timespec mono = in_ms(CLOCK_MONOTONIC, 20), wrong = {soon.tv_sec, 1000000000}, below = {soon.tv_sec, -1};
    struct timespec old = {-1, 0};
    IS("timed lock of a free one", pthread_mutex_timedlock(&m, &soon));
    IS("unlock after it", pthread_mutex_unlock(&m));
    IS("a free one needs no time that is one", pthread_mutex_timedlock(&m, &wrong));
    IS("unlock after that", pthread_mutex_unlock(&m));
    IS("nor one to come", pthread_mutex_timedlock(&m, &late));
    IS("unlock after that too", pthread_mutex_unlock(&m));
    IS("by the monotonic clock", pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &mono));
    IS("unlock again", pthread_mutex_unlock(&m));
    IS("by a clock that is none to wait by", pthread_mutex_clocklock(&m, CLOCK_THREAD_CPUTIME_ID, &mono));
    (void)below, (void)old;
    IS("destroyed", pthread_mutex_destroy(&m));
    make(&m, kind);
    IS("lock one that was made anew", pthread_mutex_lock(&m));
    IS("unlock it", pthread_mutex_unlock(&m));
    IS("destroy it", pthread_mutex_destroy(&m));
}

static struct timespec deadline;
static clockid_t deadline_clock;
static void *takes_by(void *m) {
    return (void *)(long)(deadline_clock == CLOCK_REALTIME ? pthread_mutex_timedlock(m, &deadline)
                                                           : pthread_mutex_clocklock(m, deadline_clock, &deadline));
}
/* Deadlines of who has to wait. */
static void deadlines(int kind) {
    pthread_mutex_t m;
    make(&m, kind);
    pthread_mutex_lock(&m);
    for (int turn = 0; turn < 2; turn++) {
        deadline_clock = turn ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        deadline = in_ms(deadline_clock, 30);
        IS("it passes", elsewhere(takes_by, &m));
        struct timespec now = in_ms(deadline_clock, 0);
        HOLDS("it has passed then", now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec));
        deadline = in_ms(deadline_clock, -30);
        IS("it had passed before", elsewhere(takes_by, &m));
        deadline = (struct timespec){-1, 0};
        IS("it is before all time", elsewhere(takes_by, &m));
        deadline = in_ms(deadline_clock, 30);
        deadline.tv_nsec = 1000000000;
        IS("too many nanoseconds", elsewhere(takes_by, &m));
        deadline.tv_nsec = -1;
        IS("too few", elsewhere(takes_by, &m));
        pthread_t other;
        deadline = in_ms(deadline_clock, 20000);
        pthread_create(&other, 0, takes_by, &m);
        nap_ms(20);
        pthread_mutex_unlock(&m);
        void *result;
        pthread_join(other, &result);
        IS("it is freed in time", (int)(long)result);
        IS("and had", elsewhere(tries, &m));
        if (kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK) {
            /* Whoever has it has ended. */
            make(&m, kind);
        } else {
            pthread_mutex_unlock(&m);
        }
        pthread_mutex_lock(&m);
    }
    pthread_mutex_unlock(&m);
}

static void recursive(void) {
    pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    struct timespec wrong = {0, -1};
    IS("once", pthread_mutex_lock(&m));
    IS("twice", pthread_mutex_lock(&m));
    IS("a third time, by trying", pthread_mutex_trylock(&m));
    IS("a fourth, with a deadline", pthread_mutex_timedlock(&m, &wrong));
    IS("a fifth, by a clock", pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &wrong));
    IS("another frees it", elsewhere(frees, &m));
    for (int i = 0; i < 4; i++) IS("freed once", pthread_mutex_unlock(&m));
    IS("another tries it still in vain", elsewhere(tries, &m));
    IS("freed for good", pthread_mutex_unlock(&m));
    IS("freed once too often", pthread_mutex_unlock(&m));
    IS("another has it", elsewhere(takes_and_frees, &m));
    IS("destroyed", pthread_mutex_destroy(&m));
}

static void error_checking(void) {
    pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS("free a free one", pthread_mutex_unlock(&m));
    IS("lock", pthread_mutex_lock(&m));
    IS("lock again", pthread_mutex_lock(&m));
    IS("try again", pthread_mutex_trylock(&m));
    IS("again with a deadline", pthread_mutex_timedlock(&m, &soon));
    IS("again by a clock", pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &soon));
    IS("another frees it", elsewhere(frees, &m));
    IS("free it", pthread_mutex_unlock(&m));
    IS("and again", pthread_mutex_unlock(&m));
    IS("another has it and ends", elsewhere(takes, &m));
    IS("a later thread, perhaps in the same place, is not its owner", elsewhere(tries, &m));
    IS("nor can it free it", elsewhere(frees, &m));
}

/* A normal one locked twice by its owner blocks until a deadline. */
static void normal(void) {
    static const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER, adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    for (int turn = 0; turn < 2; turn++) {
        pthread_mutex_t m = turn ? adaptive : initial;
        struct timespec soon = in_ms(CLOCK_REALTIME, 20);
        IS("locked", pthread_mutex_lock(&m));
        IS("tried by who has it", pthread_mutex_trylock(&m));
        IS("waited for by who has it", pthread_mutex_timedlock(&m, &soon));
        IS("freed by another thread", elsewhere(frees, &m));
        /* Undefined, and harmless: but the C library will not destroy one that was freed too often. */
        pthread_mutex_t often = turn ? adaptive : initial;
        IS("freed though it is free", pthread_mutex_unlock(&often));
        IS("had after that", pthread_mutex_trylock(&often));
        IS("by one at a time", elsewhere(tries, &often));
        IS("freed", pthread_mutex_unlock(&often));
        IS("destroyed", pthread_mutex_destroy(&m));
        IS("locked when destroyed", pthread_mutex_lock(&m));
        IS("tried when destroyed", pthread_mutex_trylock(&m));
        IS("freed when destroyed", pthread_mutex_unlock(&m));
        IS("destroyed when destroyed", pthread_mutex_destroy(&m));
    }
}

/* Those that stay the C library's. */
static void *dies_with(void *m) { return (void *)(long)pthread_mutex_lock(m); }
static void theirs(void) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &a);
    IS("robust: its owner dies", elsewhere(dies_with, &m));
    IS("robust: the next owner", pthread_mutex_lock(&m));
    IS("robust: made consistent", pthread_mutex_consistent(&m));
    IS("robust: freed", pthread_mutex_unlock(&m));
    IS("robust: had", elsewhere(takes_and_frees, &m));
    IS("robust: destroyed", pthread_mutex_destroy(&m));
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &a);
    IS("inheriting: locked", pthread_mutex_lock(&m));
    IS("inheriting: again", pthread_mutex_lock(&m));
    IS("inheriting: tried by another", elsewhere(tries, &m));
    IS("inheriting: freed", pthread_mutex_unlock(&m));
    IS("not robust: made consistent", pthread_mutex_consistent(&m));
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_t *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_init(shared, &a);
    pthread_mutex_lock(shared);
    pid_t child = fork();
    if (!child) _exit(pthread_mutex_trylock(shared));
    int status;
    waitpid(child, &status, 0);
    IS("shared: a child tries what its parent has", WEXITSTATUS(status));
    IS("shared: freed", pthread_mutex_unlock(shared));
}

/* The functions leave errno as it was. The lock is held until the timed wait has ended, and then until the thread is
 * asleep in the next one. */
static atomic_int has_timed_out;
static void *waits_and_looks(void *m) {
    errno = 77;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    pthread_mutex_timedlock(m, &soon);
    has_timed_out = 1;
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    return (void *)(long)errno;
}
static void leaves_errno(void) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    void *seen;
    pthread_mutex_lock(&m);
    pthread_create(&thread, 0, waits_and_looks, &m);
    while (!has_timed_out) nap_ms(1);
    until_asleep(task_of(thread));
    pthread_mutex_unlock(&m);
    pthread_join(thread, &seen);
    HOLDS("errno is as it was", (long)seen == 77);
}

/* The next owner destroys it, and its memory, while the one before may still be in its unlock. */
struct box { pthread_mutex_t m; atomic_int users; };
static void *uses(void *page) {
    struct box *box = page;
    pthread_mutex_lock(&box->m);
    int last = --box->users == 0;
    pthread_mutex_unlock(&box->m);
    if (last) {
        /* The other is out of its unlock's critical part, or this one would not have had it. */
        if (pthread_mutex_destroy(&box->m)) return (void *)1;
        munmap(page, 4096);
    }
    return 0;
}
static void destroyed_at_once(void) {
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        struct box *box = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_mutex_init(&box->m, 0);
        box->users = 2;
        pthread_t a, b;
        void *x, *y;
        pthread_create(&a, 0, uses, box);
        pthread_create(&b, 0, uses, box);
        pthread_join(a, &x);
        pthread_join(b, &y);
        wrong += x || y;
    }
    HOLDS("500 were destroyed and unmapped by who had them last", wrong == 0);
}

/* Four threads, each kind, one counter that is not atomic. */
static pthread_mutex_t counted;
static long counter;
static void *counts(void *much) {
    for (long i = 0; i < (long)much; i++) {
        if (i % 7 == 0) {
            while (pthread_mutex_trylock(&counted)) sched_yield();
        } else if (i % 11 == 0) {
            struct timespec soon;
            do soon = in_ms(CLOCK_REALTIME, 1);
            while (pthread_mutex_timedlock(&counted, &soon));
        } else {
            pthread_mutex_lock(&counted);
        }
        counter++;
        pthread_mutex_unlock(&counted);
    }
    return 0;
}
static void excludes(int kind) {
    make(&counted, kind);
    counter = 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, counts, (void *)2000);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    HOLDS("four threads counted to 8000", counter == 8000);
    IS("destroyed after them", pthread_mutex_destroy(&counted));
}

int main(void) {
    for (int i = 0; i < 5; i++) {
        chapter = names[i];
        common(kinds[i]);
        deadlines(kinds[i]);
        excludes(kinds[i]);
    }
    chapter = "recursion", recursive();
    chapter = "checks", error_checking();
    chapter = "normal behaviour", normal();
    chapter = "the C library's", theirs();
    chapter = "errno", leaves_errno();
    chapter = "lifetime", destroyed_at_once();
    return 0;
}
