/* Assertions that are printed, one a line, so that a run with the library can be held against one without. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The name of an error, or its number. */
static inline const char *said(int code) {
    static _Thread_local char number[16];
    switch (code) {
    case 0: return "0";
    case EPERM: return "EPERM";
    case EAGAIN: return "EAGAIN";
    case EBUSY: return "EBUSY";
    case EINVAL: return "EINVAL";
    case EDEADLK: return "EDEADLK";
    case ETIMEDOUT: return "ETIMEDOUT";
    case EOWNERDEAD: return "EOWNERDEAD";
    case ENOTRECOVERABLE: return "ENOTRECOVERABLE";
    case ENOTSUP: return "ENOTSUP";
    }
    snprintf(number, sizeof number, "%d", code);
    return number;
}

/* What was asserted, by whom, and what came out: "chapter: text = result". */
static const char *chapter;
#define IS(text, code) (printf("%s: %s = %s\n", chapter, text, said(code)), fflush(stdout))
#define HOLDS(text, condition) (printf("%s: %s = %s\n", chapter, text, (condition) ? "yes" : "no"), fflush(stdout))

static inline struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    if (t.tv_nsec < 0) t.tv_sec--, t.tv_nsec += 1000000000;
    return t;
}
static inline void nap_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, 0);
}
/* Returns when the thread or process has been asleep for some milliseconds, and after ten seconds at most: it waits for
 * a lock then, however long it took to get a CPU. */
static inline void until_asleep(pid_t task) {
    char path[64], state;
    snprintf(path, sizeof path, "/proc/%d/stat", task);
    for (int looks = 0, asleep = 0; looks < 10000 && asleep < 5; looks++) {
        FILE *stat = fopen(path, "r");
        int is_read = stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1;
        if (stat) fclose(stat);
        asleep = is_read && state == 'S' ? asleep + 1 : 0;
        nap_ms(1);
    }
}
/* The identifier of a thread's CPU clock contains its thread ID. */
static inline pid_t task_of(pthread_t thread) {
    clockid_t clock;
    return pthread_getcpuclockid(thread, &clock) ? 0 : ~(clock >> 3);
}
/* What f makes of the argument in a thread of its own. */
static inline int elsewhere(void *(*f)(void *), void *argument) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, f, argument);
    pthread_join(thread, &result);
    return (int)(long)result;
}
