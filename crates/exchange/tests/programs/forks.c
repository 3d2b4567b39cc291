/* Forks while locks are held and waited for: handlers take them before and free them after, on both sides, and 24
 * children at once go on using them, with threads of their own. */
#include "conform.h"

enum { LOCKS = 3, CHILDREN = 24 };
static pthread_mutex_t locks[LOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                       PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int is_over, wrong;
static long counted;

static void before(void) { for (int i = 0; i < LOCKS; i++) wrong += pthread_mutex_lock(&locks[i]) != 0; }
static void after(void) { for (int i = LOCKS; i--;) wrong += pthread_mutex_unlock(&locks[i]) != 0; }
/* The C library takes a child's one thread for another than the one that forked, where a kind knows its owner; so
 * there it is made anew, as its manual says. */
static void in_child(void) {
    pthread_mutex_unlock(&locks[0]);
    locks[1] = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    locks[2] = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}

static void *uses(void *argument) {
    (void)argument;
    while (!is_over) {
        for (int i = 0; i < LOCKS; i++) {
            pthread_mutex_lock(&locks[i]);
            if (i == 0) counted++;
            pthread_mutex_unlock(&locks[i]);
        }
    }
    return 0;
}
static void *waits(void *argument) {
    pthread_mutex_lock(&locks[0]);
    while (!is_over) pthread_cond_wait(&cond, &locks[0]);
    pthread_mutex_unlock(&locks[0]);
    return argument;
}

/* A child's threads count under each lock, and its own wait for its own. */
static long sum;
static void *counts(void *lock) {
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(lock);
        sum++;
        pthread_mutex_unlock(lock);
    }
    return 0;
}
static int child(void) {
    alarm(300);
    for (int i = 0; i < LOCKS; i++) {
        pthread_t threads[2];
        sum = 0;
        for (int j = 0; j < 2; j++) pthread_create(&threads[j], 0, counts, &locks[i]);
        for (int j = 0; j < 2; j++) pthread_join(threads[j], 0);
        if (sum != 1000 || pthread_mutex_trylock(&locks[i]) || pthread_mutex_unlock(&locks[i])) return 1 + i;
    }
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    pthread_mutex_lock(&locks[0]);
    if (pthread_cond_timedwait(&cond, &locks[0], &soon) != ETIMEDOUT) return 5;
    pthread_mutex_unlock(&locks[0]);
    return wrong != 0;
}

int main(void) {
    chapter = "forks";
    alarm(300);
    pthread_t users[3], waiters[2];
    pthread_atfork(before, after, in_child);
    for (int i = 0; i < 3; i++) pthread_create(&users[i], 0, uses, 0);
    for (int i = 0; i < 2; i++) pthread_create(&waiters[i], 0, waits, 0);
    int failed = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (!pid) _exit(child());
        if (pid < 0) failed++;
    }
    for (int i = 0, status; i < CHILDREN; i++) failed += wait(&status) < 0 || status != 0;
    pthread_mutex_lock(&locks[0]);
    is_over = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&locks[0]);
    for (int i = 0; i < 3; i++) pthread_join(users[i], 0);
    for (int i = 0; i < 2; i++) pthread_join(waiters[i], 0);
    HOLDS("24 children went on with what their parent held", failed == 0);
    HOLDS("so did the parent", wrong == 0 && counted > 0);
    return 0;
}
