// A program that knows its own preempted holds: threads hold a lock for a given CPU time, again and again, while a
// competitor of known duty has their CPU. At each gap of the clock within a hold, the thread reads the kernel's count of
// its involuntary switches. Involuntary switches between that and the calls that acquire and release the lock are outside of
// the hold or within it: they are counted in preempted_at_most alone.
//
// usage: preempted HOLD_US SECONDS THREADS DUTY
//
// The competitor computes for the share DUTY of each 20 ms. All threads and the competitor run on one CPU.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t hold_ns, end_ns;
static atomic_ulong holds, preempted, preempted_at_most, kept_us, within_5us, within_50us, waited_us, waited_preempted_us;
static _Atomic uint64_t asked_at[64];

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static long switches(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

// Adds the time that the other threads waited during a gap.
static void add_waits(uint64_t from, uint64_t to)
{
	for (int i = 0; i < 64; i++) {
		uint64_t asked = asked_at[i];
		if (asked && asked < to)
			waited_preempted_us += (to - (asked > from ? asked : from)) / 1000;
	}
}

static void *work(void *arg)
{
	_Atomic uint64_t *own = &asked_at[(intptr_t)arg];
	while (now(CLOCK_MONOTONIC) < end_ns) {
		long outside = switches();
		uint64_t asked = now(CLOCK_MONOTONIC);
		*own = asked;
		pthread_mutex_lock(&lock);
		*own = 0;
		long switched = switches();
		uint64_t got = now(CLOCK_MONOTONIC), before = got, lost = 0;
		waited_us += (got - asked) / 1000;
		// Preemptions of this hold, by the CPU time that it had used before.
		uint64_t used[64];
		int gaps = 0;
		while (before - got < hold_ns + lost) {
			uint64_t at = now(CLOCK_MONOTONIC);
			if (at - before > 2000) {
				long count = switches();
				if (count != switched) {
					preempted += count - switched;
					switched = count;
					kept_us += (at - before) / 1000;
					add_waits(before, at);
					used[gaps++ & 63] = before - got - lost;
					lost += at - before;
				}
			}
			before = at;
		}
		for (int i = 0; i < gaps && i < 64; i++) {
			within_5us += hold_ns - used[i] <= 5000;
			within_50us += hold_ns - used[i] <= 50000;
		}
		pthread_mutex_unlock(&lock);
		preempted_at_most += switches() - outside;
		holds++;
	}
	return 0;
}

int main(int count, char **words)
{
	if (count != 5)
		return fprintf(stderr, "usage: preempted HOLD_US SECONDS THREADS DUTY\n"), 2;
	hold_ns = atof(words[1]) * 1000;
	double seconds = atof(words[2]), duty = atof(words[4]);
	int threads = atoi(words[3]);
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof set, &set);
	pid_t competitor = duty > 0 ? fork() : 0;
	if (!competitor && duty > 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "competitor");
		for (;;) {
			uint64_t began = now(CLOCK_MONOTONIC);
			while (now(CLOCK_MONOTONIC) - began < duty * 20e6)
				;
			uint64_t left = 20000000 - (now(CLOCK_MONOTONIC) - began);
			if (duty < 1 && left < 20000000)
				usleep(left / 1000);
		}
	}
	end_ns = now(CLOCK_MONOTONIC) + seconds * 1e9;
	pthread_t thread[threads];
	for (int i = 0; i < threads; i++)
		pthread_create(thread + i, 0, work, (void *)(intptr_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], 0);
	if (competitor > 0) {
		kill(competitor, SIGKILL);
		waitpid(competitor, 0, 0);
	}
	double shares[] = {waited_us ? (double)waited_preempted_us / waited_us : 0,
			   preempted ? (double)within_5us / preempted : 0, preempted ? (double)within_50us / preempted : 0};
	printf("holds %lu preempted %lu preempted_at_most %lu kept_ms %.1f waited_percent %.2f within_5us_percent %.2f within_50us_percent %.2f\n",
	       holds, preempted, preempted_at_most, kept_us / 1e3, 100 * shares[0], 100 * shares[1], 100 * shares[2]);
	return 0;
}
