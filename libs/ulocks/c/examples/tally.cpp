// Threads add to a tally under std::lock_guard, and the main thread waits for them with std::condition_variable_any.
//
//     c++ -std=c++17 -I include examples/tally.cpp -lulocks_c -lpthread
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "ulocks.hpp"

static ulocks::adaptive mutex;
static ulocks::adaptive_rw table;
static long total;

int main()
{
    std::condition_variable_any done;
    int left = 4;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int round = 0; round < 10000; round++) {
                std::lock_guard<ulocks::adaptive> guard(mutex);
                total++;
            }
            std::lock_guard<ulocks::adaptive> guard(mutex);
            left--;
            done.notify_one();
        });
    {
        std::unique_lock<ulocks::adaptive> guard(mutex);
        done.wait(guard, [&] { return left == 0; });
        std::printf("total: %ld\n", total);
        bool taken = false;
        std::thread([&] { taken = mutex.try_lock_for(std::chrono::milliseconds(2)); }).join();
        std::printf("taken while held: %s\n", taken ? "yes" : "no");
    }
    {
        std::shared_lock<ulocks::adaptive_rw> one(table), two(table);
        std::printf("written while read: %s\n", table.try_lock() ? "yes" : "no");
    }
    for (auto &thread : threads)
        thread.join();
}
