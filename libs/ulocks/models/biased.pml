/* The biased lock: an owner that takes and frees a word by plain stores, and revokers that mark it and fence.
 *
 * Threads lock and unlock ROUNDS times. Two inside at a time, or a touch of the lock after its last owner freed the
 * memory, are assertions; a thread that waits for ever is an invalid end state. The scheduler aborts any sequence at any
 * moment. The fence reaches one thread after another, with steps of others between. The lock beneath is a word that is
 * taken and freed in one step each. Whether a bias passes on or is nobody's for good is open at each revocation.
 *
 * Broken on purpose: NO_FENCE (the revoker does not fence), FENCE_FIRST (it fences before it marks), STORE_FIRST (the
 * owner stores before it compares), LOOK_AFTER (the owner looks at the word after it has freed it).
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
#define MINE ((me + 1) * 4)

byte bias;
bool beneath;
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

/* The sequence: bias becomes `to` if it is `from`, unless it is aborted. */
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

inline take_beneath() { atomic { !beneath -> touch(); beneath = true } }

inline leave_beneath() { atomic { touch(); beneath = false } }

proctype thread(byte me) {
    byte i, seen, mark, next, rounds;
    bool stored, settled, last;
    do
    :: rounds == ROUNDS -> break
    :: else ->
        rounds++;
        store_if(MINE, MINE | HELD);
        if
        :: !stored -> change(MINE, MINE | HELD)
        :: else -> skip
        fi;
        settled = true;
        do
        :: stored -> break
        :: else ->
            if
            :: settled -> take_beneath()
            :: else -> skip
            fi;
            touch();
            seen = bias;
            if
            :: seen == REVOKED ->
                stored = true
            :: seen == 0 ->
                change(0, MINE | HELD);
                assert(stored);
                leave_beneath()
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
                    :: next = MINE | HELD
                    :: next = REVOKED
                    fi;
                    change(mark, next);
                    if
                    :: stored && next != REVOKED -> leave_beneath()
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
        :: seen == REVOKED -> leave_beneath()
        :: else ->
            store_if(MINE | HELD, MINE);
#ifdef LOOK_AFTER
            if
            :: stored -> touch()
            :: else -> skip
            fi;
#endif
            if
            :: !stored ->
                change(MINE | HELD, MINE);
                if
                :: !stored -> change(MINE | HELD | REVOKING, REVOKED)
                :: else -> skip
                fi;
                if
                :: !stored -> leave_beneath()
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
