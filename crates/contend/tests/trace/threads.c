// So many threads at once, each of which takes a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

static void *work(void *nothing) {
    pthread_mutex_lock(&common);
    pthread_mutex_unlock(&common);
    pthread_barrier_wait(&all);
    return nothing;
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 100, made = 0;
    pthread_t *every = malloc(threads * sizeof *every);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, 0, threads);
    while (made < threads && pthread_create(every + made, &small, work, 0) == 0) made++;
    if (made < threads) {
        printf("only %d threads\n", made);
        _exit(4);
    }
    for (int place = 0; place < threads; place++) pthread_join(every[place], 0);
    return 0;
}
