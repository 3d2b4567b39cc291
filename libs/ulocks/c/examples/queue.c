/* A queue between two threads with a condition variable, one-time initialisation, and waits with a deadline.
 *
 *     cc -I include examples/queue.c -lulocks_c -lpthread
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "ulocks.h"

static ulock_t lock = ULOCK_INIT;
static ucond_t changed = UCOND_INIT;
static uonce_t once = UONCE_INIT;
static urw_t table = URW_INIT;
static usem_t slots = USEM_INIT(1);
static int queued, taken;

static void greet(void) { printf("once\n"); }

static void *take(void *unused)
{
    uonce_call(&once, greet);
    ulock_lock(&lock);
    while (taken < 1000) {
        while (queued == 0)
            ucond_wait(&changed, &lock);
        taken += queued;
        queued = 0;
    }
    ulock_unlock(&lock);
    return unused;
}

static struct timespec in_milliseconds(long milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

int main(void)
{
    pthread_t taker;
    uonce_call(&once, greet);
    pthread_create(&taker, NULL, take, NULL);
    for (int i = 0; i < 1000; i++) {
        ulock_lock(&lock);
        queued++;
        ucond_signal(&changed);
        ulock_unlock(&lock);
    }
    pthread_join(taker, NULL);
    printf("taken: %d\n", taken);

    struct timespec soon = in_milliseconds(2), no_time = { 0, 1000000000 };
    ulock_lock(&lock);
    printf("condition: %s\n", ucond_wait_until(&changed, &lock, &soon) == ETIMEDOUT ? "time is over" : "woken");
    printf("held: %s\n", ulock_lock_until(&lock, &soon) == ETIMEDOUT ? "time is over" : "taken");
    printf("no time: %s\n", ulock_lock_until(&lock, &no_time) == EINVAL ? "refused" : "taken");
    ulock_unlock(&lock);

    usem_wait(&slots);
    printf("semaphore: %s\n", usem_wait_until(&slots, &soon) == ETIMEDOUT ? "time is over" : "taken");
    urw_rdlock(&table);
    printf("readers: %s\n", urw_tryrdlock(&table) == 0 && urw_trywrlock(&table) == EBUSY ? "share" : "do not");
    printf("writer: %s\n", urw_wrlock_until(&table, &soon) == ETIMEDOUT ? "time is over" : "taken");
    return 0;
}
