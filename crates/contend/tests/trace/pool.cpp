// A pool of two for six threads, made of a C++20 semaphore: no function of the C library shows it. With the argument
// `queue`, such a semaphore counts the items of a queue, which is mostly empty.
#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>
#include <vector>

std::counting_semaphore<8> pool(2);
std::atomic<bool> is_over;

__attribute__((noinline)) void ask() {
    pool.acquire();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    pool.release();
}

std::counting_semaphore<1000> items(0);

__attribute__((noinline)) void work() {
    items.acquire();
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < end) {}
}

int serve() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; number++) threads.emplace_back([] { while (!is_over) work(); });
    for (int item = 0; item < 400; item++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        items.release();
    }
    is_over = true;
    items.release(4);
    for (auto &thread : threads) thread.join();
    return 0;
}

int main(int count, char **) {
    if (count > 1) return serve();
    std::vector<std::thread> threads;
    for (int number = 0; number < 6; number++) threads.emplace_back([] { while (!is_over) ask(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    is_over = true;
    for (auto &thread : threads) thread.join();
}
