// Threads that take a lock for ever, or so many ms.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *nothing) {
    for (;;) {
        pthread_mutex_lock(&busy_lock);
        pthread_mutex_unlock(&busy_lock);
    }
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t thread;
    for (int place = 0; place < 2; place++) pthread_create(&thread, 0, work, 0);
    usleep(count > 1 ? 1000 * atoi(arguments[1]) : 60000000);
    _exit(3);
}
