/* pthread_cond_*, with mutexes of every kind, those that stay the C library's among them. */
#include "conform.h"

struct pair {
    pthread_mutex_t m;
    pthread_cond_t c;
    int turn;
    atomic_int is_here;
};
static void *waits(void *argument) {
    struct pair *p = argument;
    int code = pthread_mutex_lock(&p->m);
    p->is_here = 1;
    while (!p->turn && !code) code = pthread_cond_wait(&p->c, &p->m);
    p->turn--;
    pthread_mutex_unlock(&p->m);
    return (void *)(long)code;
}
/* Until that thread waits: it lets nobody have the mutex before. */
static void until_it_waits(struct pair *p) {
    while (!p->is_here) nap_ms(1);
    pthread_mutex_lock(&p->m);
    pthread_mutex_unlock(&p->m);
}
static void wakes(const char *who, pthread_mutexattr_t *ma, pthread_condattr_t *ca) {
    struct pair p = {.turn = 0};
    char text[80];
    chapter = who;
    pthread_mutex_init(&p.m, ma);
    pthread_cond_init(&p.c, ca);
    pthread_t threads[3];
    void *result;
    int wrong = 0;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, waits, &p);
    nap_ms(20);
    pthread_mutex_lock(&p.m);
    p.turn = 1;
    snprintf(text, sizeof text, "signal");
    IS(text, pthread_cond_signal(&p.c));
    pthread_mutex_unlock(&p.m);
    nap_ms(5);
    pthread_mutex_lock(&p.m);
    p.turn += 2;
    IS("broadcast", pthread_cond_broadcast(&p.c));
    pthread_mutex_unlock(&p.m);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], &result), wrong |= (int)(long)result;
    IS("all waits", wrong);
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), wrong_time = {0, 1000000000}, past = {1, 0};
    clockid_t clock = CLOCK_REALTIME;
    if (ca) pthread_condattr_getclock(ca, &clock);
    pthread_mutex_lock(&p.m);
    IS("a time that is none", pthread_cond_timedwait(&p.c, &p.m, &wrong_time));
    IS("a time that has passed", pthread_cond_timedwait(&p.c, &p.m, &past));
    soon = in_ms(clock, 20);
    IS("a time that passes", pthread_cond_timedwait(&p.c, &p.m, &soon));
    struct timespec now = in_ms(clock, 0);
    HOLDS("it has passed then", now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
    soon = in_ms(CLOCK_MONOTONIC, 20);
    IS("by the monotonic clock", pthread_cond_clockwait(&p.c, &p.m, CLOCK_MONOTONIC, &soon));
    IS("by a clock that is none to wait by", pthread_cond_clockwait(&p.c, &p.m, CLOCK_THREAD_CPUTIME_ID, &soon));
    IS("the mutex is had after all that", pthread_mutex_unlock(&p.m));
    IS("signal without a waiter", pthread_cond_signal(&p.c));
    IS("destroyed", pthread_cond_destroy(&p.c));
    IS("its mutex too", pthread_mutex_destroy(&p.m));
}

static void of_all_kinds(void) {
    pthread_mutexattr_t ma;
    pthread_condattr_t monotonic, shared;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_condattr_init(&shared);
    pthread_condattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    wakes("default", 0, 0);
    wakes("monotonic", 0, &monotonic);
    wakes("shared with a private mutex", 0, &shared);
    const int kinds[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    const char *names[] = {"recursive", "error-checking", "adaptive"};
    for (int i = 0; i < 3; i++) {
        pthread_mutexattr_init(&ma);
        pthread_mutexattr_settype(&ma, kinds[i]);
        wakes(names[i], &ma, 0);
    }
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
    wakes("robust", &ma, 0);
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT);
    wakes("inheriting", &ma, 0);
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    wakes("shared", &ma, &shared);
    wakes("private with a shared mutex", &ma, 0);
}

static void errors(void) {
    pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    chapter = "errors";
    IS("wait without the mutex", pthread_cond_wait(&c, &m));
    IS("with a deadline", pthread_cond_timedwait(&c, &m, &soon));
    pthread_mutex_lock(&m);
    IS("destroy the mutex that is had", pthread_mutex_destroy(&m));
    pthread_mutex_unlock(&m);
    IS("destroyed", pthread_cond_destroy(&c));
    IS("so is the mutex", pthread_mutex_destroy(&m));
    struct pair p = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    pthread_t thread;
    pthread_create(&thread, 0, waits, &p);
    until_it_waits(&p);
    IS("destroy a mutex that a waiter will come back to", pthread_mutex_destroy(&p.m));
    pthread_mutex_lock(&p.m);
    p.turn = 1;
    pthread_cond_signal(&p.c);
    pthread_mutex_unlock(&p.m);
    pthread_join(thread, 0);
    IS("and when it has", pthread_mutex_destroy(&p.m));
}

static atomic_int handled;
static void handler(int signal) { handled += signal > 0; }
static void survives_signals(void) {
    chapter = "signals";
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    struct pair p = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, waits, &p);
    until_it_waits(&p);
    for (int i = 0; i < 5; i++) {
        pthread_kill(thread, SIGUSR1);
        while (handled == i) nap_ms(1);
    }
    nap_ms(10);
    pthread_mutex_lock(&p.m);
    p.turn = 1;
    pthread_cond_signal(&p.c);
    pthread_mutex_unlock(&p.m);
    pthread_join(thread, &result);
    IS("a wait that handlers interrupt", (int)(long)result);
    HOLDS("they ran", handled == 5);
}

/* Cancellation: the mutex is had again before the handlers run, in order, and nobody's signal is lost. */
static atomic_int in_order, had;
static void last(void *argument) {
    struct pair *p = argument;
    had += pthread_mutex_trylock(&p->m) == EBUSY;
    in_order = in_order == 1 ? 2 : -1;
    pthread_mutex_unlock(&p->m);
}
static void first(void *argument) { (void)argument, in_order = in_order == 0 ? 1 : -1; }
static void *is_cancelled(void *argument) {
    struct pair *p = argument;
    pthread_mutex_lock(&p->m);
    pthread_cleanup_push(last, p);
    pthread_cleanup_push(first, p);
    while (1) pthread_cond_wait(&p->c, &p->m);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return 0;
}
static void *ignores(void *argument) {
    struct pair *p = argument;
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return waits(p);
}
static void *pending(void *argument) {
    struct pair *p = argument;
    pthread_mutex_lock(&p->m);
    pthread_cancel(pthread_self());
    pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &p->m);
    pthread_cond_wait(&p->c, &p->m);
    pthread_cleanup_pop(0);
    return 0;
}
static void cancellation(void) {
    chapter = "cancellation";
    struct pair p = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, is_cancelled, &p);
    nap_ms(20);
    IS("asked for", pthread_cancel(thread));
    pthread_join(thread, &result);
    HOLDS("done", result == PTHREAD_CANCELED);
    HOLDS("the handlers ran, the last first", in_order == 2);
    HOLDS("with the mutex had", had == 1);
    pthread_create(&thread, 0, pending, &p);
    pthread_join(thread, &result);
    HOLDS("one that was asked before", result == PTHREAD_CANCELED);
    pthread_create(&thread, 0, ignores, &p);
    nap_ms(10);
    pthread_cancel(thread);
    nap_ms(10);
    pthread_mutex_lock(&p.m);
    p.turn = 1;
    pthread_cond_signal(&p.c);
    pthread_mutex_unlock(&p.m);
    pthread_join(thread, &result);
    IS("one that ignores it", (int)(long)result);
    IS("the mutex is free", pthread_mutex_trylock(&p.m));
    IS("freed", pthread_mutex_unlock(&p.m));
    IS("destroyed", pthread_mutex_destroy(&p.m));
    IS("and the condition", pthread_cond_destroy(&p.c));
}

/* A signal and a cancellation at the same moment, on one CPU, so that the waiter has had both when it runs: the signal
 * is not lost with it. Where it was not cancelled in its wait it hands the signal on. */
static pthread_mutex_t around = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t both = PTHREAD_COND_INITIALIZER;
static int waiting;
static void *hands_on(void *unused) {
    pthread_mutex_lock(&around);
    waiting++;
    pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &around);
    pthread_cond_wait(&both, &around);
    pthread_cleanup_pop(1);
    pthread_cond_signal(&both);
    return unused;
}
static void *is_next(void *unused) {
    struct timespec late = in_ms(CLOCK_REALTIME, 60000);
    pthread_mutex_lock(&around);
    waiting++;
    int code = pthread_cond_timedwait(&both, &around, &late);
    pthread_mutex_unlock(&around);
    return code ? &both : unused;
}
static void until(int so_many) {
    int now = 0;
    while (now != so_many) {
        nap_ms(1);
        pthread_mutex_lock(&around);
        now = waiting;
        pthread_mutex_unlock(&around);
    }
}
static void cancelled_as_it_is_signalled(void) {
    cpu_set_t one, all;
    int lost = 0;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < 30 && !lost; i++) {
        pthread_t first, second;
        void *result;
        waiting = 0;
        pthread_create(&first, 0, hands_on, 0);
        until(1);
        pthread_create(&second, 0, is_next, 0);
        until(2);
        pthread_cond_signal(&both);
        pthread_cancel(first);
        pthread_join(first, 0);
        pthread_join(second, &result);
        lost += result != 0;
    }
    sched_setaffinity(0, sizeof all, &all);
    HOLDS("a signal is not lost with a waiter that is cancelled", lost == 0);
}

/* Destroyed and unmapped as soon as all are woken, though they have not left their waits. */
static int is_open, passed;
static void *passes(void *cond) {
    pthread_mutex_lock(&around);
    waiting++;
    while (!is_open) pthread_cond_wait(cond, &around);
    passed++;
    pthread_mutex_unlock(&around);
    return 0;
}
static void destroyed_at_once(void) {
    chapter = "lifetime";
    int wrong = 0;
    for (int i = 0; i < 150; i++) {
        pthread_cond_t *cond = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_cond_init(cond, 0);
        pthread_t threads[3];
        waiting = passed = is_open = 0;
        for (int j = 0; j < 3; j++) pthread_create(&threads[j], 0, passes, cond);
        until(3);
        pthread_mutex_lock(&around);
        is_open = 1;
        if (i % 3) wrong += pthread_cond_broadcast(cond) != 0;
        else for (int j = 0; j < 3; j++) wrong += pthread_cond_signal(cond) != 0;
        if (i % 2) pthread_mutex_unlock(&around);
        wrong += pthread_cond_destroy(cond) != 0;
        munmap(cond, 4096);
        if (i % 2 == 0) pthread_mutex_unlock(&around);
        for (int j = 0; j < 3; j++) pthread_join(threads[j], 0);
        wrong += passed != 3;
    }
    HOLDS("150 were destroyed and unmapped as soon as their waiters were woken", wrong == 0);
}

int main(void) {
    of_all_kinds();
    errors();
    survives_signals();
    cancellation();
    cancelled_as_it_is_signalled();
    destroyed_at_once();
    return 0;
}
