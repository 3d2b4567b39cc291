// Five threads hold one lock in turns, and sleep with it: ./fivefold SECONDS
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t only_lock = PTHREAD_MUTEX_INITIALIZER;
static time_t end;

static void *worker(void *unused) {
    while (time(NULL) < end) {
        pthread_mutex_lock(&only_lock);
        usleep(2000);
        pthread_mutex_unlock(&only_lock);
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t threads[5];
    end = time(NULL) + (count > 1 ? atoi(words[1]) : 2);
    for (int place = 0; place < 5; place++)
        pthread_create(&threads[place], NULL, worker, NULL);
    for (int place = 0; place < 5; place++)
        pthread_join(threads[place], NULL);
    return 0;
}
