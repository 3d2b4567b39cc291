/* Mutexes on the heap: one that a function initialises, one that another is the first to take, one that is waited for in
 * a third. Which of them have another lock it sees from their bytes: the C library notes the owner in a locked one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

APART static int is_exchanged(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    int is_another = mutex->__data.__owner == 0;
    pthread_mutex_unlock(mutex);
    return is_another;
}

APART static pthread_mutex_t *makes(void) {
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, 0);
    return mutex;
}

APART static void takes(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}

APART static void *waits(void *mutex) {
    for (int i = 0; i < 20; i++) {
        struct timespec pause = {0, 300000};
        pthread_mutex_lock(mutex);
        nanosleep(&pause, 0);
        pthread_mutex_unlock(mutex);
    }
    return 0;
}

int main(void) {
    pthread_mutex_t *made = makes(), *taken = calloc(1, sizeof *taken), *hot = calloc(1, sizeof *hot);
    pthread_t threads[3];
    takes(taken);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, waits, hot);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    printf("exchanged %d\n", 1 + is_exchanged(made) + 2 * is_exchanged(taken) + 4 * is_exchanged(hot));
    return 0;
}
