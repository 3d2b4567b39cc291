// A pool of two for six threads, made of a C++20 semaphore: no function of the C library shows it.
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

int main() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 6; number++) threads.emplace_back([] { while (!is_over) ask(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    is_over = true;
    for (auto &thread : threads) thread.join();
}
