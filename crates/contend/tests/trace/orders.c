// Ten locks in one order; with an argument, two of them in the other order as well, one thread after another.
#include <pthread.h>

pthread_mutex_t locks[10];

static void *nested(void *nothing) {
    for (int round = 0; round < 50; round++) {
        for (int place = 0; place < 10; place++) pthread_mutex_lock(locks + place);
        for (int place = 9; place >= 0; place--) pthread_mutex_unlock(locks + place);
    }
    return nothing;
}

static void *against(void *nothing) {
    pthread_mutex_lock(locks + 7);
    pthread_mutex_lock(locks + 3);
    pthread_mutex_unlock(locks + 3);
    pthread_mutex_unlock(locks + 7);
    return nothing;
}

int main(int count, char **arguments) {
    (void)arguments;
    pthread_t thread;
    for (int place = 0; place < 10; place++) pthread_mutex_init(locks + place, 0);
    pthread_create(&thread, 0, nested, 0);
    pthread_join(thread, 0);
    if (count > 1) {
        pthread_create(&thread, 0, against, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
