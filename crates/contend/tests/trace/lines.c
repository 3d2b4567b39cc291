/* Threads that never wait for each other, and what they share. MODE: beside (two counters in one cache line), apart (each in its
   own), counter (one atomic), own (an atomic for each thread), reader (a word that the other thread writes), readers (a
   readers-writer lock), turns (one thread at a time has a word, for milliseconds), computes (nothing). Runs for SECONDS. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct { volatile long first, second; } __attribute__((aligned(128))) beside;
static struct { volatile long hits; char rest[120]; } __attribute__((aligned(128))) apart[2];
static long served __attribute__((aligned(128)));
static struct { long count; char rest[120]; } __attribute__((aligned(128))) own[2];
static volatile long level __attribute__((aligned(128)));
static pthread_rwlock_t routes_lock __attribute__((aligned(128))) = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t turn_lock __attribute__((aligned(128))) = PTHREAD_MUTEX_INITIALIZER;
static volatile long turn_word __attribute__((aligned(128)));
static volatile int stop __attribute__((aligned(128)));
static long routes[64] __attribute__((aligned(128)));
static const char *mode;

static void count_beside(long me) { if (me) while (!stop) beside.second++; else while (!stop) beside.first++; }
static void count_apart(long me) { while (!stop) apart[me].hits++; }
static void count_served(void) { while (!stop) __atomic_fetch_add(&served, 1, __ATOMIC_RELAXED); }
static void count_own(long me) { while (!stop) __atomic_fetch_add(&own[me].count, 1, __ATOMIC_RELAXED); }

static long follow_level(long me)
{
    long sum = 0;
    if (me) while (!stop) level++;
    else while (!stop) sum += level;
    return sum;
}

static long route(long key)
{
    pthread_rwlock_rdlock(&routes_lock);
    long to = routes[key & 63];
    pthread_rwlock_unlock(&routes_lock);
    return to;
}

static void take_turns(void)
{
    while (!stop) {
        struct timespec from, now;
        pthread_mutex_lock(&turn_lock);
        clock_gettime(CLOCK_MONOTONIC, &from);
        do {
            for (int i = 0; i < 10000; i++) turn_word++;
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 5000000);
        pthread_mutex_unlock(&turn_lock);
        nanosleep(&(struct timespec){0, 100000}, 0);
    }
}

static long compute(long me)
{
    unsigned long x = me + 1;
    while (!stop) for (int i = 0; i < 1000; i++) x = x * 6364136223846793005ul + 1442695040888963407ul;
    return x;
}

static void *work(void *argument)
{
    long me = (long)argument, sum = 0;
    if (!strcmp(mode, "beside")) count_beside(me);
    else if (!strcmp(mode, "apart")) count_apart(me);
    else if (!strcmp(mode, "counter")) count_served();
    else if (!strcmp(mode, "own")) count_own(me);
    else if (!strcmp(mode, "reader")) sum = follow_level(me);
    else if (!strcmp(mode, "readers")) while (!stop) sum += route(sum + me);
    else if (!strcmp(mode, "turns")) take_turns();
    else sum = compute(me);
    return (void *)sum;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    double seconds = count > 2 ? atof(arguments[2]) : 1.5;
    mode = count > 1 ? arguments[1] : "computes";
    for (long i = 0; i < 2; i++) pthread_create(threads + i, 0, work, (void *)i);
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)}, 0);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
