// Becomes a daemon, which closes its descriptors and works on a lock with two threads for so many milliseconds. The
// program itself ends at once, with status 4. With a second argument, the daemon forks a child later, which works as well.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t daemon_lock = PTHREAD_MUTEX_INITIALIZER;
static double end_s;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void *work(void *unused) {
    while (now_s() < end_s) {
        pthread_mutex_lock(&daemon_lock);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, 0);
        pthread_mutex_unlock(&daemon_lock);
    }
    return unused;
}

int main(int count, char **arguments) {
    end_s = now_s() + (count > 1 ? atoi(arguments[1]) : 1000) / 1e3;
    if (fork()) {
        _exit(4);
    }
    setsid();
    if (fork()) {
        _exit(0);
    }
    chdir("/");
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        close(descriptor);
    }
    open("/dev/null", O_RDWR);
    dup(0);
    dup(0);
    pthread_t other;
    pthread_create(&other, 0, work, 0);
    if (count > 2) {
        nanosleep(&(struct timespec){.tv_nsec = 400000000}, 0);
        fork();
    }
    work(0);
    pthread_join(other, 0);
    return 0;
}
