// So many locks, each taken once.
#include <pthread.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long locks = count > 1 ? atol(arguments[1]) : 1000;
    pthread_mutex_t *many = calloc(locks, sizeof *many);
    for (long place = 0; place < locks; place++) {
        pthread_mutex_lock(many + place);
        pthread_mutex_unlock(many + place);
    }
    return 0;
}
