// Two files of one program, each with a copy of a function that contains a sequence: the linker keeps one copy.
#include <cstdio>

#include "ulocks.hpp"

struct tally {
    ulocks::adaptive lock;
    long total = 0;
    __attribute__((noinline)) long add()
    {
        lock.lock();
        const long now = ++total;
        lock.unlock();
        return now;
    }
};

long elsewhere(tally &shared);

#ifdef ELSEWHERE
long elsewhere(tally &shared)
{
    return shared.add();
}
#else
int main()
{
    static tally shared;
    const long here = shared.add();
    std::printf("%ld %ld\n", here, elsewhere(shared));
}
#endif
