// Each request has a lock of its own, at a new address, for which a second thread waits: ./requests COUNT
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t *current;
static pthread_barrier_t both;

static void *waiter(void *unused) {
    for (;;) {
        pthread_barrier_wait(&both);
        pthread_mutex_lock(current);
        pthread_mutex_unlock(current);
        pthread_barrier_wait(&both);
    }
    return unused;
}

int main(int count, char **words) {
    long requests = count > 1 ? atol(words[1]) : 15000;
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, waiter, NULL);
    while (requests-- > 0) {
        // Never freed, so that no address comes again.
        current = malloc(64);
        pthread_mutex_init(current, NULL);
        pthread_mutex_lock(current);
        pthread_barrier_wait(&both);
        usleep(20);
        pthread_mutex_unlock(current);
        pthread_barrier_wait(&both);
    }
    _exit(0);
}
