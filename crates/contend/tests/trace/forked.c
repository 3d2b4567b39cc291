/* Forks after 1.5 s. The child changes two words in turn; ends with 3 if one takes more than ten times as long. */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile unsigned watched_word, other_word;

static double changed(volatile unsigned *word) {
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int count = 0; count < 20000; count++)
        ++*word;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9;
}

int main(void) {
    usleep(1500000);
    const pid_t child = fork();
    if (child == 0) {
        double watched = 0, other = 0;
        for (int turn = 0; turn < 20; turn++) {
            watched += changed(&watched_word);
            other += changed(&other_word);
        }
        printf("%.1f times as long\n", watched / other);
        return watched > 10 * other ? 3 : 0;
    }
    int status = 0;
    waitpid(child, &status, 0);
    usleep(500000);
    return WEXITSTATUS(status);
}
