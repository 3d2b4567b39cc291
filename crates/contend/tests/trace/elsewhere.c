// A lock whose holder is in another function than its waiters: reload holds config_lock and sleeps; search acquires it while
// it holds index_lock. Threads that wait for index_lock are in search too, and hold nothing. Ends after some seconds.
//
// usage: elsewhere SECONDS
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER, config_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over;

__attribute__((noinline)) static void reload(void) {
    pthread_mutex_lock(&config_lock);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, 0);
    pthread_mutex_unlock(&config_lock);
}

__attribute__((noinline)) static void search(void) {
    pthread_mutex_lock(&index_lock);
    pthread_mutex_lock(&config_lock);
    pthread_mutex_unlock(&config_lock);
    pthread_mutex_unlock(&index_lock);
}

static void *reloads(void *unused) {
    while (!is_over) {
        reload();
        nanosleep(&(struct timespec){.tv_nsec = 200000}, 0);
    }
    return unused;
}

static void *searches(void *unused) {
    while (!is_over) {
        search();
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t threads[4];
    pthread_create(&threads[0], 0, reloads, 0);
    for (int number = 1; number < 4; number++) {
        pthread_create(&threads[number], 0, searches, 0);
    }
    sleep(count > 1 ? atoi(words[1]) : 3);
    is_over = 1;
    for (int number = 0; number < 4; number++) {
        pthread_join(threads[number], 0);
    }
    return 0;
}
