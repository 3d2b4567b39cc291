/* The restartable unlock: a holder that releases a word by a plain store, and waiters that set a flag and fence.
 *
 * Threads lock and unlock ROUNDS times. A blocked thread that is never woken is an invalid end state. Two holders, or an
 * access to the word after its last owner freed the memory, violate assertions. The scheduler aborts any sequence at any
 * moment. The fence reaches one thread after another, with steps of other threads in between.
 *
 * Deliberate faults: NO_FENCE (the waiter does not fence), FENCE_FIRST (it fences before it sets the flag), STORE_FIRST
 * (the holder stores before it compares), LOOK_AFTER (the holder reads the word after it has stored: another thread may
 * have freed the memory).
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define HELD 1
#define WAITERS 2

byte word;                  /* the lock */
bool asleep[THREADS];       /* in the kernel's queue of the word */
bool running[THREADS];      /* within a sequence that has not been aborted */
byte inside;                /* holders */
byte owners = THREADS;      /* threads that will still lock, counted under the lock */
bool destroyed;

inline touch() { assert(!destroyed) }

inline fence() {
    i = 0;
    do
    :: i < THREADS -> running[i] = false; i++
    :: else -> break
    od;
    i = 0
}

/* Wakes any blocked thread: more behaviours than those of the kernel, which is fair. */
inline wake() {
    if
    :: atomic { asleep[0] -> asleep[0] = false }
    :: atomic { asleep[1] -> asleep[1] = false }
#if THREADS > 2
    :: atomic { asleep[2] -> asleep[2] = false }
    :: atomic { !asleep[0] && !asleep[1] && !asleep[2] -> skip }
#else
    :: atomic { !asleep[0] && !asleep[1] -> skip }
#endif
    fi
}

proctype thread(byte me) {
    byte i, seen, rounds;
    bool marked, freed, last;
    do
    :: rounds == ROUNDS -> break
    :: else ->
        rounds++;
        touch();
        atomic {
            if
            :: word == 0 -> word = HELD; seen = 0
            :: else -> seen = HELD
            fi
        }
        do
        :: seen == 0 -> break
        :: else ->
            touch();
            seen = word;
            marked = true;
            if
            :: seen == 0 ->
                atomic {
                    if
                    :: word == 0 -> word = HELD | WAITERS; marked = false
                    :: else -> seen = HELD; marked = false
                    fi
                }
            :: seen == HELD ->
#ifdef FENCE_FIRST
                fence();
#endif
                atomic {
                    if
                    :: word == HELD -> word = HELD | WAITERS
                    :: else -> marked = false
                    fi
                }
#if !defined(NO_FENCE) && !defined(FENCE_FIRST)
                if
                :: marked -> fence()
                :: else -> skip
                fi
#endif
            :: else -> skip
            fi;
            if
            :: marked ->
                atomic { asleep[me] = (word == (HELD | WAITERS)) };
                !asleep[me];
            :: else -> skip
            fi
        od;

        inside++;
        assert(inside == 1);
        last = false;
        if
        :: rounds == ROUNDS -> owners--; last = (owners == 0)
        :: else -> skip
        fi;
        inside--;

        freed = false;
        running[me] = true;
        touch();
#ifdef STORE_FIRST
        word = 0;
        seen = word;
        freed = (seen == 0);
        running[me] = false;
#else
        seen = word;
        if
        :: seen == HELD ->
            touch();
            atomic {
                if
                :: running[me] -> word = 0; freed = true
                :: else -> skip
                fi;
                running[me] = false
            }
        :: else -> running[me] = false
        fi;
#endif
        if
        :: !freed ->
            touch();
            atomic { seen = word; word = 0 };
            if
            :: seen & WAITERS -> wake()
            :: else -> skip
            fi
        :: else ->
#ifdef LOOK_AFTER
            touch();
            if
            :: word & WAITERS -> skip
            :: else -> skip
            fi
#else
            skip
#endif
        fi;
        if
        :: last -> destroyed = true
        :: else -> skip
        fi
    od
}

/* Preemptions, migrations and signals. */
active proctype scheduler() {
end:
    do
    :: running[0] -> running[0] = false
    :: running[1] -> running[1] = false
#if THREADS > 2
    :: running[2] -> running[2] = false
#endif
    od
}

init {
    atomic {
        run thread(0);
        run thread(1)
#if THREADS > 2
        ;
        run thread(2)
#endif
    }
}
