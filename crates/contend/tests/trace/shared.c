// Two processes that take turns at a mutex in anonymous shared memory, which the kernel calls "/dev/zero (deleted)":
// 1,500 turns, or as many as it is told. They end with the program.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void rest(long microseconds) {
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

int main(int count, char **words) {
    int turns = count > 1 ? atoi(words[1]) : 1500;
    pthread_mutex_t *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(shared, &attributes);
    for (int child = 0; child < 2; child++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int turn = 0; turn < turns; turn++) {
                pthread_mutex_lock(shared);
                rest(500);
                pthread_mutex_unlock(shared);
                rest(100);
            }
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {}
    return 0;
}
