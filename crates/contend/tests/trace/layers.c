// Readers in layers: each thread of a layer holds that layer's lock as a reader, and waits to write the next one. Nobody
// waits in a circle, but there are as many paths through the layers as WIDTH to the power of LAYERS.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 32
static pthread_rwlock_t lock_of_layer[MOST + 1];
static pthread_barrier_t all_hold;

static void *climb(void *argument) {
    long layer = (long)argument;
    pthread_rwlock_rdlock(&lock_of_layer[layer]);
    pthread_barrier_wait(&all_hold);
    pthread_rwlock_wrlock(&lock_of_layer[layer + 1]);
    pthread_rwlock_unlock(&lock_of_layer[layer + 1]);
    pthread_rwlock_unlock(&lock_of_layer[layer]);
    return NULL;
}

int main(int count, char **words) {
    long layers = count > 1 ? atol(words[1]) : 10, width = count > 2 ? atol(words[2]) : 8;
    if (layers > MOST) return 2;
    for (long layer = 0; layer <= layers; layer++) pthread_rwlock_init(&lock_of_layer[layer], NULL);
    pthread_barrier_init(&all_hold, NULL, layers * width + 1);
    pthread_rwlock_wrlock(&lock_of_layer[layers]);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (long layer = 0; layer < layers; layer++) {
        for (long thread = 0; thread < width; thread++) {
            pthread_t started;
            if (pthread_create(&started, &small, climb, (void *)layer) != 0) return 3;
            pthread_detach(started);
        }
    }
    pthread_barrier_wait(&all_hold);
    sleep(3);
    puts("over");
    fflush(stdout);
    _exit(0);
}
