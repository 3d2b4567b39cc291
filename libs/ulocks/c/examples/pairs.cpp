/* Measures a lock/unlock pair as a program calls it: nanoseconds per pair, median and 95 % confidence interval of
 * interleaved repetitions, and the ratio of the inline ulock_t to the best of the other libraries.
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
#include <cstring>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <vector>

#ifdef WITH_PEERS
#include <absl/synchronization/mutex.h>
#include <nsync.h>
#endif

#include "ulocks_inline.h"

enum { REPETITIONS = 25 };

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

    bool is_peer() const { return !std::strstr(name, "ulock"); }
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

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/* Of 25 values, the 8th smallest and the 8th largest enclose the median with a confidence of 95.7 %. */
static void print(const std::string &name, std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    std::printf("%s: %.3f (%.3f-%.3f)\n", name.c_str(), median(values), values[7], values[REPETITIONS - 8]);
}

int main(int count, char **arguments)
{
    long pairs = count > 1 ? std::atol(arguments[1]) : 1000000;
    std::vector<Contestant> contestants = {
        {"ulock inline", REPETITION(ulock_lock(&ulock), ulock_unlock(&ulock)), {}},
        {"ulock", REPETITION(ulocks_ulock_lock(&ulock), ulocks_ulock_unlock(&ulock)), {}},
        {"shared_ulock inline", REPETITION(shared_ulock_lock(&shared), shared_ulock_unlock(&shared)), {}},
        {"shared_ulock", REPETITION(ulocks_shared_ulock_lock(&shared), ulocks_shared_ulock_unlock(&shared)), {}},
        {"pthread", REPETITION(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)), {}},
#ifdef WITH_PEERS
        {"nsync", REPETITION(nsync::nsync_mu_lock(&mu), nsync::nsync_mu_unlock(&mu)), {}},
        {"abseil", REPETITION(abseil.Lock(), abseil.Unlock()), {}},
#endif
    };
    /* The mutexes of the C library use no atomic operation while there is only one thread. */
    pthread_t other;
    pthread_create(&other, nullptr, sleeps, nullptr);
    for (int i = 0; i < REPETITIONS; i++)
        for (Contestant &contestant : contestants)
            contestant.times.push_back(contestant.repetition(pairs));
    const Contestant *best = nullptr;
    for (const Contestant &contestant : contestants) {
        print(contestant.name, contestant.times);
        if (contestant.is_peer() && (!best || median(contestant.times) < median(best->times))) best = &contestant;
    }
    std::vector<double> ratios;
    for (int i = 0; i < REPETITIONS; i++)
        ratios.push_back(contestants[0].times[i] / best->times[i]);
    print(std::string(contestants[0].name) + " / " + best->name, ratios);
    return 0;
}
