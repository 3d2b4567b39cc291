// Known waits and holds, which the program times itself. Three locks are held for 100 us, 300 us and 1 ms of work by two
// threads each; the holder of the fourth sleeps for half of its hold, so that for half of it nobody runs.
//
// It prints for each lock: its name, how often it was taken, the time of all holds and of all waits in ns, and the share
// of the time that one waited while the other held it in which that other did not run: it slept, or a look at the clock
// came late.
//
// known ROUNDS THREADS US: the fourth lock alone, while so many threads yield, each after so long, so that the machine
// switches without end.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 4, THREADS = 2 };
pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER,
                third_lock = PTHREAD_MUTEX_INITIALIZER, stopped_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *const locks[LOCKS] = {&first_lock, &second_lock, &third_lock, &stopped_lock};
static const char *const names[LOCKS] = {"first_lock", "second_lock", "third_lock", "stopped_lock"};
static const long holds_ns[LOCKS] = {100000, 300000, 1000000, 2000000};
enum { MOST = 200000 };
static int rounds, others;
static volatile int is_over, is_waiting[THREADS];
static long pause_ns;
static double held[LOCKS], waited[LOCKS];
static long taken[LOCKS];

struct spans {
    double from[MOST], to[MOST];
    int count;
};
// Of each thread, with the lock that is in use.
static struct spans holds[THREADS], waits[THREADS], stops[THREADS], idles[THREADS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void note(struct spans *spans, double from, double to) {
    if (spans->count == MOST) abort();
    spans->from[spans->count] = from;
    spans->to[spans->count++] = to;
}

static void work(struct spans *stopped, double until) {
    for (double last = now(), next = last; next < until; last = next) {
        next = now();
        if (next - last > 5000) note(stopped, last, next);
    }
}

struct user {
    int lock, place;
};

static void *user(void *what) {
    struct user *me = what;
    int which = me->lock;
    struct spans *stopped = stops + me->place, *idle = idles + me->place;
    for (int round = 0; round < rounds; round++) {
        is_waiting[me->place] = 1;
        double asked = now();
        pthread_mutex_lock(locks[which]);
        double got = now();
        is_waiting[me->place] = 0;
        note(waits + me->place, asked, got);
        taken[which]++;
        if (which == LOCKS - 1) {
            work(stopped, got + holds_ns[which] / 2);
            double began = now();
            usleep(holds_ns[which] / 2000);
            note(stopped, began, now());
        } else {
            work(stopped, got + holds_ns[which]);
        }
        waited[which] += got - asked;
        double end = now();
        held[which] += end - got;
        note(holds + me->place, got, end);
        pthread_mutex_unlock(locks[which]);
        // Whoever takes a lock again before the woken thread has a CPU is its holder to this program; to the kernel that
        // thread waits for a CPU. So the woken thread goes first; among threads that yield it has a CPU soon.
        while (!others && is_waiting[!me->place]) usleep(50);
        idle->count = 0;
        work(idle, now() + holds_ns[which] / 2);
    }
    return 0;
}

static void *yield(void *nothing) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    while (!is_over) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
        sched_yield();
        for (double until = now() + pause_ns; now() < until;) {}
    }
    return nothing;
}

// How much of the one lies in the other, and of that in a third; all in order of time.
static double common(const struct spans *one, const struct spans *other, const struct spans *third) {
    double sum = 0;
    for (int a = 0, b = 0; a < one->count && b < other->count;) {
        double from = one->from[a] > other->from[b] ? one->from[a] : other->from[b];
        double to = one->to[a] < other->to[b] ? one->to[a] : other->to[b];
        if (to > from && !third) sum += to - from;
        for (int c = 0; to > from && third && c < third->count; c++) {
            double begin = from > third->from[c] ? from : third->from[c], end = to < third->to[c] ? to : third->to[c];
            if (end > begin) sum += end - begin;
        }
        if (one->to[a] < other->to[b]) a++; else b++;
    }
    return sum;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 200;
    others = count > 2 ? atoi(arguments[2]) : 0;
    pause_ns = count > 3 ? 1000 * atol(arguments[3]) : 0;
    pthread_t yielding[64];
    for (int place = 0; place < others; place++) pthread_create(yielding + place, 0, yield, 0);
    for (int which = others ? LOCKS - 1 : 0; which < LOCKS; which++) {
        pthread_t threads[THREADS];
        struct user users[THREADS];
        for (int place = 0; place < THREADS; place++) {
            holds[place].count = waits[place].count = stops[place].count = 0;
            users[place] = (struct user){which, place};
            pthread_create(threads + place, 0, user, users + place);
        }
        for (int place = 0; place < THREADS; place++) pthread_join(threads[place], 0);
        double blamed = common(waits, holds + 1, 0) + common(waits + 1, holds, 0);
        double stopped = common(waits, holds + 1, stops + 1) + common(waits + 1, holds, stops);
        printf("%s %ld %.0f %.0f %.4f\n", names[which], taken[which], held[which], waited[which], stopped / blamed);
    }
    is_over = 1;
    for (int place = 0; place < others; place++) pthread_join(yielding[place], 0);
    return 0;
}
