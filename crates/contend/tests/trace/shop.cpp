// A lock in an object and a global one, both taken in functions that are inlined.
#include <mutex>
#include <thread>

namespace shop {
struct Cart {
    std::mutex guard;
    long things = 0;
    void add() {
        std::lock_guard<std::mutex> lock(guard);
        things++;
    }
};
std::mutex till;
}

static inline void pay() {
    shop::till.lock();
    shop::till.unlock();
}

int main() {
    shop::Cart cart;
    auto work = [&] {
        for (int round = 0; round < 1000; round++) {
            cart.add();
            pay();
        }
    };
    std::thread other(work);
    work();
    other.join();
    return cart.things == 2000 ? 0 : 1;
}
