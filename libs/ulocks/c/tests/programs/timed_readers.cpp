// The timed calls of the adaptive reader-writer lock: by the locks of the C++ library, and the C functions of both kinds.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "ulocks.hpp"

using reader = std::shared_lock<ulocks::adaptive_rw>;
using writer = std::unique_lock<ulocks::adaptive_rw>;
using std::chrono::steady_clock;
using std::chrono::system_clock;

static const std::chrono::milliseconds SHORT(2);
static const std::chrono::minutes LONG(1);

// One table for each timed call, so that no call sees a waiter of another one.
static ulocks::adaptive_rw tables[3];

// Prints whether a timed call has acquired its table, or gave up before the timeout.
static void print(bool acquired, bool is_early)
{
    std::printf(" %s", acquired ? "acquired" : is_early ? "early" : "timeout");
}

// Tries to acquire a table by each timed call of this lock.
template <class Lock> static void try_each(const char *name, std::chrono::nanoseconds timeout)
{
    std::printf("%s:", name);
    auto began = steady_clock::now();
    bool acquired = Lock(tables[0], timeout).owns_lock();
    print(acquired, steady_clock::now() - began < timeout);
    began = steady_clock::now();
    acquired = Lock(tables[1], began + timeout).owns_lock();
    print(acquired, steady_clock::now() - began < timeout);
    // This clock may be set, so the wait may have another length.
    acquired = Lock(tables[2], system_clock::now() + timeout).owns_lock();
    print(acquired, false);
    std::printf("\n");
}

// Prints a 1 for each expected result of a C function, while the lock is held for reading, and then for writing.
#define TRY_FUNCTIONS(kind) \
    do { \
        static kind##_t lock = URW_INIT; \
        const struct timespec past = {0, 0}, invalid = {0, 1000000000}; \
        struct timespec later; \
        clock_gettime(CLOCK_MONOTONIC, &later); \
        later.tv_sec += 60; \
        std::printf(#kind ": "); \
        std::printf("%d", ulocks_##kind##_timedrdlock(&lock, 0) == 0); \
        std::printf("%d", ulocks_##kind##_rdlock_until(&lock, &later) == 0); \
        std::printf("%d", ulocks_##kind##_rdlock_until(&lock, &invalid) == EINVAL); \
        std::printf("%d", ulocks_##kind##_timedwrlock(&lock, 2000000) == ETIMEDOUT); \
        std::printf("%d", ulocks_##kind##_wrlock_until(&lock, &past) == ETIMEDOUT); \
        ulocks_##kind##_rdunlock(&lock); \
        ulocks_##kind##_rdunlock(&lock); \
        std::printf("%d", ulocks_##kind##_wrlock_until(&lock, &later) == 0); \
        std::printf("%d", ulocks_##kind##_wrlock_until(&lock, &invalid) == EINVAL); \
        std::printf("%d", ulocks_##kind##_timedrdlock(&lock, 2000000) == ETIMEDOUT); \
        std::printf("%d", ulocks_##kind##_rdlock_until(&lock, &past) == ETIMEDOUT); \
        ulocks_##kind##_wrunlock(&lock); \
        std::printf("%d\n", ulocks_##kind##_timedwrlock(&lock, UINT64_MAX) == 0); \
    } while (0)

int main()
{
    {
        writer held[] = {writer(tables[0]), writer(tables[1]), writer(tables[2])};
        std::thread([] { try_each<reader>("reader of a written table", SHORT); }).join();
        std::thread([] { try_each<writer>("writer of a written table", SHORT); }).join();
        std::thread waiter([] { try_each<reader>("reader of a released table", LONG); });
        std::this_thread::sleep_for(SHORT);
        for (writer &each : held) each.unlock();
        waiter.join();
    }
    {
        reader held[] = {reader(tables[0]), reader(tables[1]), reader(tables[2])};
        std::thread([] { try_each<reader>("reader of a read table", LONG); }).join();
        std::thread([] { try_each<writer>("writer of a read table", SHORT); }).join();
    }
    try_each<writer>("writer of an unlocked table", LONG);
    TRY_FUNCTIONS(urw);
    TRY_FUNCTIONS(shared_urw);
}
