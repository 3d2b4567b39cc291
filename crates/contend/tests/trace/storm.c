// Four threads that yield with a lock in hand, for so many ms; it prints how often they were switched.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS = 4 };
pthread_mutex_t even = PTHREAD_MUTEX_INITIALIZER, odd = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over;

static void *work(void *nothing) {
    for (int round = 0; !is_over; round++) {
        pthread_mutex_t *lock = round % 2 ? &odd : &even;
        pthread_mutex_lock(lock);
        sched_yield();
        pthread_mutex_unlock(lock);
    }
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    for (int place = 0; place < THREADS; place++) pthread_create(threads + place, 0, work, 0);
    usleep(1000 * (count > 1 ? atoi(arguments[1]) : 1000));
    is_over = 1;
    for (int place = 0; place < THREADS; place++) pthread_join(threads[place], 0);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
    return 0;
}
