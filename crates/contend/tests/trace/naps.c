// Sleeps in short naps, and makes no futex call: ./naps SECONDS
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words) {
    time_t end = time(NULL) + (count > 1 ? atoi(words[1]) : 10);
    while (time(NULL) < end)
        usleep(200);
    return 0;
}
