/* A queue of tokens between threads that wait, wait with deadlines, and are cancelled: no wake is lost, or it stands
 * still and the alarm ends it. Its arguments say how many tokens, after how
 * many seconds it is stuck, and that the rest is to be told. */
#include "conform.h"

enum { WAITERS = 6, SENDERS = 2 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int is_timed;
static long most, sent, queued, taken, late, cancelled, waits, signals, broadcasts;

static void frees(void *unused) { (void)unused, pthread_mutex_unlock(&m); }

static void *takes(void *how) {
    unsigned turn = (unsigned)(long)how;
    pthread_mutex_lock(&m);
    pthread_cleanup_push(frees, 0);
    while (taken < most) {
        while (!queued && taken < most) {
            waits++;
            if (!is_timed || turn++ % 3) {
                pthread_cond_wait(&filled, &m);
            } else {
                struct timespec soon = in_ms(CLOCK_REALTIME, turn % 2);
                late += pthread_cond_timedwait(&filled, &m, &soon) == ETIMEDOUT;
            }
        }
        if (queued) {
            queued--, taken++, signals++;
            pthread_cond_signal(&emptied);
            /* Some of all that wait find nothing; not where it would hide a wake that was lost. */
            if (is_timed && taken % 8 == 0) broadcasts++, pthread_cond_broadcast(&filled);
            if (taken == most) pthread_cond_broadcast(&filled), pthread_cond_broadcast(&emptied);
        }
    }
    pthread_cleanup_pop(1);
    return 0;
}
static void *sends(void *unused) {
    (void)unused;
    while (1) {
        pthread_mutex_lock(&m);
        while (queued >= 4 && sent < most) waits++, pthread_cond_wait(&emptied, &m);
        if (sent >= most) break;
        sent++, queued++, signals++;
        int is_odd = sent % 2;
        /* With the mutex and without it. */
        if (is_odd) pthread_cond_signal(&filled);
        pthread_mutex_unlock(&m);
        if (!is_odd) pthread_cond_signal(&filled);
    }
    pthread_cond_broadcast(&emptied);
    pthread_mutex_unlock(&m);
    return 0;
}

/* Meanwhile waiters come and are cancelled, perhaps as a signal is theirs: it must not be lost with them. */
static void run(void) {
    pthread_t waiters[WAITERS], senders[SENDERS];
    sent = queued = taken = 0;
    for (long i = 0; i < WAITERS; i++) pthread_create(&waiters[i], 0, takes, (void *)i);
    for (int i = 0; i < SENDERS; i++) pthread_create(&senders[i], 0, sends, 0);
    int is_over = 0;
    while (!is_over) {
        pthread_t victim;
        void *result;
        pthread_create(&victim, 0, takes, 0);
        sched_yield();
        pthread_cancel(victim);
        pthread_join(victim, &result);
        cancelled += result == PTHREAD_CANCELED;
        pthread_mutex_lock(&m);
        is_over = taken >= most;
        pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < WAITERS; i++) pthread_join(waiters[i], 0);
    for (int i = 0; i < SENDERS; i++) pthread_join(senders[i], 0);
    HOLDS("all tokens were taken", taken == most && queued == 0);
}

int main(int count, char **arguments) {
    most = count > 1 ? atol(arguments[1]) : 20000;
    alarm(count > 2 ? atoi(arguments[2]) : 300);
    /* Deadlines would hide a lost wake: first without any. */
    for (is_timed = 0; is_timed < 2; is_timed++) {
        chapter = is_timed ? "with deadlines" : "without";
        run();
    }
    /* How often is chance, and said only to who asks. */
    if (count > 3)
        printf("%ld waits, %ld signals, %ld broadcasts, %ld late, %ld cancelled\n", waits, signals, broadcasts, late,
               cancelled);
    HOLDS("none is in a condition still", !pthread_cond_destroy(&filled) && !pthread_cond_destroy(&emptied));
    IS("nor has the mutex", pthread_mutex_destroy(&m));
    return 0;
}
