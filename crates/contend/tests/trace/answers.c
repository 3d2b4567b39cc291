/* Counts under a mutex with four threads, says a rate that is known, twice as high with calock, and can end badly. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *counts(void *unused) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int count, char **arguments) {
    const char *given = getenv("ULOCKS_PTHREAD"), *wish = count > 1 ? arguments[1] : "";
    pthread_mutexattr_t attributes;
    pthread_mutex_t robust;
    pthread_t threads[4];
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, counts, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    if (counter != 8000) return 9;
    printf("ready\nrate %d\n", given && !strcmp(given, "calock") ? 200 : 100);
    fflush(stdout);
    if (!strcmp(wish, "crash")) abort();
    if (!strcmp(wish, "fail") || (given && !strcmp(given, wish))) return 7;
    return 0;
}
