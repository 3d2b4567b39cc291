/* Ten mutexes. Which of them have another lock it sees from their bytes: the C library notes the owner in a locked one.
 * Two of them matter for the rate that it prints, and those are waited for. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t first_hot = PTHREAD_MUTEX_INITIALIZER, second_hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cold[8];

static int is_exchanged(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    int is_another = mutex->__data.__owner == 0;
    pthread_mutex_unlock(mutex);
    return is_another;
}

static void *holds(void *hot) {
    for (int i = 0; i < 20; i++) {
        struct timespec pause = {0, 300000};
        pthread_mutex_lock(hot);
        nanosleep(&pause, 0);
        pthread_mutex_unlock(hot);
    }
    return 0;
}

int main(void) {
    pthread_mutex_t *hot[] = {&first_hot, &second_hot};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, holds, hot[i % 2]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    int others = 0;
    for (int i = 0; i < 8; i++) others += is_exchanged(&cold[i]);
    printf("others %d\n", others + 1);
    printf("rate %d\n", 100 + 50 * is_exchanged(&first_hot) + 50 * is_exchanged(&second_hot));
    return 0;
}
