/* Threads of OpenMP wait for a critical section. */
#include <time.h>

static double sum;

static __attribute__((noinline)) void publish(int number) {
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, 0);
    sum += number;
}

int main(void) {
#pragma omp parallel num_threads(4)
    for (int number = 0; number < 150; number++) {
#pragma omp critical(total)
        publish(number);
    }
    return sum < 0;
}
