// Two threads that copy one shared_ptr for each request.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

struct Config { int limit = 7; };
static std::shared_ptr<const Config> current = std::make_shared<Config>();
static std::atomic<bool> stop{false};

__attribute__((noinline)) static int limit_of(std::shared_ptr<const Config> config) { return config->limit; }

__attribute__((noinline)) static long handle()
{
    long sum = 0;
    while (!stop.load(std::memory_order_relaxed)) sum += limit_of(current);
    return sum;
}

int main()
{
    std::thread one(handle), other(handle);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    stop = true;
    one.join();
    other.join();
}
