// Round after round: `root` holds `inner` for 20 ms; `middle` takes `outer` and waits for `inner`; `last` waits for `outer`,
// and is the last at the end of the round by 2 ms, so that the round lasts as long as its waits.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins;
static int rounds;

static void *root(void *nothing) {
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&inner);
        pthread_barrier_wait(&round_begins);
        usleep(20000);
        pthread_mutex_unlock(&inner);
        pthread_barrier_wait(&round_begins);
    }
    return nothing;
}

static void *middle(void *nothing) {
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&outer);
        pthread_barrier_wait(&round_begins);
        pthread_mutex_lock(&inner);
        pthread_mutex_unlock(&inner);
        pthread_mutex_unlock(&outer);
        pthread_barrier_wait(&round_begins);
    }
    return nothing;
}

static void *last(void *nothing) {
    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&round_begins);
        pthread_mutex_lock(&outer);
        pthread_mutex_unlock(&outer);
        usleep(2000);
        pthread_barrier_wait(&round_begins);
    }
    return nothing;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 20;
    void *(*work[])(void *) = {root, middle, last};
    pthread_t threads[3];
    pthread_barrier_init(&round_begins, 0, 3);
    for (int place = 0; place < 3; place++) pthread_create(threads + place, 0, work[place], 0);
    for (int place = 0; place < 3; place++) pthread_join(threads[place], 0);
    return 0;
}
