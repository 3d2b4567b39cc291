// Two threads that take turns by a condition variable; each frees the lock only by waiting.
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int next;

static void *player(void *number) {
    int me = (int)(intptr_t)number;
    for (int turn = 0; turn < 300; turn++) {
        pthread_mutex_lock(&lock);
        while (next != me)
            pthread_cond_wait(&changed, &lock);
        next = !me;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, player, (void *)(intptr_t)1);
    player(0);
    return pthread_join(other, 0);
}
