/* The biased lock: an owner that acquires and releases a word by plain stores, and revokers that set a flag and fence.
 *
 * Threads lock and unlock ROUNDS times. Two threads in the critical section, or an access to the lock after its last
 * owner freed the memory, violate assertions; a thread that waits forever is an invalid end state. The scheduler aborts
 * any sequence at any moment. The fence reaches one thread after another, with steps of other threads in between. The
 * inner lock is a word that is acquired and released in one step each. Each revocation may pass the bias on or end it
 * permanently.
 *
 * Deliberate faults: NO_FENCE (the revoker does not fence), FENCE_FIRST (it fences before it sets the flag), STORE_FIRST
 * (the owner stores before it compares), LOOK_AFTER (the owner reads the word after it has released it).
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define HELD 1
#define REVOKING 2
#define REVOKED REVOKING
#define OWN_BIAS ((me + 1) * 4)

byte bias;
bool inner;
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

/* The sequence: changes the bias from `from` to `to` unless it has another value or the sequence is aborted. */
inline store_if(from, to) {
    stored = false;
    running[me] = true;
    touch();
#ifdef STORE_FIRST
    seen = bias;
    bias = (to);
    stored = (seen == (from));
    running[me] = false
#else
    seen = bias;
    if
    :: seen == (from) ->
        touch();
        atomic {
            if
            :: running[me] -> bias = (to); stored = true
            :: else -> skip
            fi;
            running[me] = false
        }
    :: else -> running[me] = false
    fi
#endif
}

inline change(from, to) {
    touch();
    atomic {
        if
        :: bias == (from) -> bias = (to); stored = true
        :: else -> stored = false
        fi
    }
}

inline acquire_inner() { atomic { !inner -> touch(); inner = true } }

inline release_inner() { atomic { touch(); inner = false } }

proctype thread(byte me) {
    byte i, seen, mark, next, rounds;
    bool stored, settled, last;
    do
    :: rounds == ROUNDS -> break
    :: else ->
        rounds++;
        store_if(OWN_BIAS, OWN_BIAS | HELD);
        if
        :: !stored -> change(OWN_BIAS, OWN_BIAS | HELD)
        :: else -> skip
        fi;
        settled = true;
        do
        :: stored -> break
        :: else ->
            if
            :: settled -> acquire_inner()
            :: else -> skip
            fi;
            touch();
            seen = bias;
            if
            :: seen == REVOKED ->
                stored = true
            :: seen == 0 ->
                change(0, OWN_BIAS | HELD);
                assert(stored);
                release_inner()
            :: else ->
                mark = seen | REVOKING;
#ifdef FENCE_FIRST
                fence();
#endif
                settled = false;
                change(seen, mark);
#if !defined(NO_FENCE) && !defined(FENCE_FIRST)
                if
                :: stored -> fence()
                :: else -> skip
                fi;
#endif
                if
                :: stored && (mark & HELD) ->
                    change(mark, REVOKED);
                    settled = stored;
                    stored = false
                :: stored && !(mark & HELD) ->
                    if
                    :: next = OWN_BIAS | HELD
                    :: next = REVOKED
                    fi;
                    change(mark, next);
                    if
                    :: stored && next != REVOKED -> release_inner()
                    :: else -> skip
                    fi
                :: else -> skip
                fi
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

        touch();
        seen = bias;
        if
        :: seen == REVOKED -> release_inner()
        :: else ->
            store_if(OWN_BIAS | HELD, OWN_BIAS);
#ifdef LOOK_AFTER
            if
            :: stored -> touch()
            :: else -> skip
            fi;
#endif
            if
            :: !stored ->
                change(OWN_BIAS | HELD, OWN_BIAS);
                if
                :: !stored -> change(OWN_BIAS | HELD | REVOKING, REVOKED)
                :: else -> skip
                fi;
                if
                :: !stored -> release_inner()
                :: else -> skip
                fi
            :: else -> skip
            fi
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
    byte n;
    atomic {
        do
        :: n < THREADS -> run thread(n); n++
        :: else -> break
        od
    }
}
