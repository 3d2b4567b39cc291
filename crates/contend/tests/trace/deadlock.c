// Two threads take two locks in opposite orders and wait for each other; the program leaves after so many ms, or never.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *leftmost(void *nothing) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&right);
    return nothing;
}

static void *rightmost(void *nothing) {
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&left);
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    pthread_barrier_init(&both, 0, 2);
    pthread_create(threads, 0, leftmost, 0);
    pthread_create(threads + 1, 0, rightmost, 0);
    if (count > 1) {
        usleep(1000 * atoi(arguments[1]));
        _exit(0);
    }
    pthread_join(threads[0], 0);
    return 0;
}
