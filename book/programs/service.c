/* A service under load: four threads answer requests for a fixed time, and it prints its rate. Every hundredth request
   writes to a log, with the lock held; without it, if FIXED is defined. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4 };

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static long requests;
static atomic_int is_over;

__attribute__((noinline)) static void write_log(void) {
    usleep(500);
}

__attribute__((noinline)) static void answer(void) {
    pthread_mutex_lock(&cache_lock);
    int is_logged = ++requests % 100 == 0;
#ifndef FIXED
    if (is_logged)
        write_log();
#endif
    pthread_mutex_unlock(&cache_lock);
#ifdef FIXED
    if (is_logged)
        write_log();
#endif
}

static void *serve(void *unused) {
    while (!atomic_load(&is_over))
        answer();
    return unused;
}

int main(int count, char **arguments) {
    int ms = count > 1 ? atoi(arguments[1]) : 300;
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, serve, NULL);
    usleep(1000 * ms);
    atomic_store(&is_over, 1);
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    printf("%.0f requests/s\n", 1000.0 * requests / ms);
    return 0;
}
