/* Two locks that no variable names: `often` takes the one 30 times in a thread, `seldom` the other 10 times. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t *one, *other;

static pthread_mutex_t *made(void) {
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, 0);
    return lock;
}

__attribute__((noinline)) static void often(void) {
    pthread_mutex_lock(one);
    usleep(1000);
    pthread_mutex_unlock(one);
}

__attribute__((noinline)) static void seldom(void) {
    pthread_mutex_lock(other);
    usleep(2000);
    pthread_mutex_unlock(other);
}

static void *work(void *nothing) {
    (void)nothing;
    for (int i = 0; i < 30; i++) {
        often();
        if (i % 3 == 0) seldom();
    }
    return 0;
}

int main(void) {
    pthread_t threads[3];
    one = made();
    other = made();
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
