/* Measures a lock/unlock pair as a program calls it: nanoseconds per pair, the median of interleaved repetitions.
 *
 *     c++ -O2 -I include pairs.cpp -lulocks_c -lpthread
 *     c++ -O2 -DWITH_PEERS -I include pairs.cpp -lulocks_c -lnsync_cpp -labsl_synchronization -lpthread
 *     ./a.out [PAIRS PER REPETITION]
 *
 * With the path of libulocks_c.a instead of -lulocks_c, no call leaves the program: far calls are slower on some
 * processors.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
#include <vector>

#ifdef WITH_PEERS
#include <absl/synchronization/mutex.h>
#include <nsync.h>
#endif

#include "ulocks.h"

static volatile long total;

static ulock_t ulock;
static shared_ulock_t shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#ifdef WITH_PEERS
static nsync::nsync_mu mu = NSYNC_MU_INIT;
static absl::Mutex abseil;
#endif

struct Contestant {
    const char *name;
    double (*repetition)(long pairs);
    std::vector<double> times;
};

/* One repetition of one lock, whose functions are called as a program would call them. */
#define REPETITION(acquire, release) \
    [](long pairs) { \
        auto began = std::chrono::steady_clock::now(); \
        for (long i = 0; i < pairs; i++) { \
            acquire; \
            total = total + 1; \
            release; \
        } \
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began; \
        return took.count() / pairs; \
    }

static void *sleeps(void *unused)
{
    pause();
    return unused;
}

int main(int count, char **arguments)
{
    long pairs = count > 1 ? std::atol(arguments[1]) : 1000000;
    std::vector<Contestant> contestants = {
        {"ulock", REPETITION(ulock_lock(&ulock), ulock_unlock(&ulock)), {}},
        {"shared_ulock", REPETITION(shared_ulock_lock(&shared), shared_ulock_unlock(&shared)), {}},
        {"pthread", REPETITION(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)), {}},
#ifdef WITH_PEERS
        {"nsync", REPETITION(nsync::nsync_mu_lock(&mu), nsync::nsync_mu_unlock(&mu)), {}},
        {"abseil", REPETITION(abseil.Lock(), abseil.Unlock()), {}},
#endif
    };
    /* The mutexes of the C library use no atomic operation while there is only one thread. */
    pthread_t other;
    pthread_create(&other, nullptr, sleeps, nullptr);
    for (int i = 0; i < 15; i++)
        for (Contestant &contestant : contestants)
            contestant.times.push_back(contestant.repetition(pairs));
    for (Contestant &contestant : contestants) {
        std::sort(contestant.times.begin(), contestant.times.end());
        double best = contestant.times.front(), median = contestant.times[contestant.times.size() / 2];
        std::printf("%s: %.2f, at best %.2f\n", contestant.name, median, best);
    }
    return 0;
}
