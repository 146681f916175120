/*
 * Who owns a subtree: lease, claim, fence, takeover and hand-over, with two nodes, a store, and a log that the owners write to.
 *
 * Times are counters that a tick takes down, so time has no end, and the states are finite all the same. A tick is the margin. Messages are
 * lost, and stay under way for any time; nodes are stopped and go on at any time; a node's clock may miss a tick in the life of a renewal.
 * Time waits for a node that isn't stopped: it does what is due before the next tick.
 *
 * Node 0 has all the troubles. Node 1 has a lease that doesn't end, and claims what it can; with -DBOTH it has the same troubles.
 *
 * Checked:
 *   ORDER  a write isn't accepted after one of a later epoch;
 *   ONE    at most one node believes that it may write (left out with -DORDER_ONLY, for what the gate does alone).
 *
 * Each of these leaves a rule out, and must be found:
 *   -DNO_FENCE       the owner goes on when its deadline has passed
 *   -DNO_MARGIN      the deadline is the end of the lease
 *   -DFROM_ANSWER    the deadline is counted from the answer of a renewal
 *   -DBLIND_RESUME   the clock doesn't count the time for which a node was stopped
 *   -DRELEASE_FIRST  a key is released before its subtree has stopped
 *   -DNO_GATE        the log takes any epoch
 *   -DLOWER_GATE     the log takes an epoch that is lower by one
 */

#ifndef TTL
#define TTL 4
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif

#ifdef NO_MARGIN
#define TRUST TTL
#else
#define TRUST (TTL - 1)
#endif

#define NODES 2
#ifdef BOTH
#define hasTroubles(n) true
#else
#define hasTroubles(n) (n == 0)
#endif
#define NO_NODE 2

/* What is under way for a node's lease. */
#define NOTHING 0
#define JOIN 1
#define RENEW 2
#define GRANTED 3         /* the answer of either */
#define GONE 4            /* the answer that the lease is gone */

/* The store. */
byte owner = NO_NODE;      /* the node whose key is there */
byte epoch = 0;           /* the epoch of the latest key */
byte lease[NODES];        /* the time that is left of each node's lease; 0: it has none */

/* The nodes. */
byte deadline[NODES];     /* the time by the node's clock until which it trusts its lease; 0: not at all */
byte owned[NODES];        /* the epoch in which it runs the subtree; 0: it doesn't */
bool stopped[NODES];
bool slow[NODES];         /* whether the clock has missed a tick since the renewal was sent from which the deadline counts */
bool slower[NODES];       /* whether it has missed one since the renewal was sent that is under way */
bool handing[NODES];      /* whether the subtree stops to be handed over */

/* Messages. One of a kind is under way; another one is sent when it has arrived or is lost. */
byte renewal[NODES];      /* one of the kinds below */
byte age[NODES];          /* the time since it was sent, by the node's clock */
bool asked[NODES];        /* a claim is on its way to the store */
byte granted[NODES];      /* the epoch that the answer of a claim tells; 0: none is on its way */
byte release[NODES];      /* the epoch whose key is to be released; 0: none */
byte writing[NODES];      /* the epoch of a write that is on its way to the log; 0: none */

/* The log. */
byte seen = 0;            /* the epoch that the gate remembers */
byte latest = 0;          /* the highest epoch that was accepted */

#define believes(n) (owned[n] != 0 && !stopped[n] && MAY(n))
#ifdef NO_FENCE
#define MAY(n) true
#else
#define MAY(n) (deadline[n] > 0)
#endif

/* Whether a node's clock counts the time. */
#ifdef BLIND_RESUME
#define COUNTS(n) (!stopped[n])
#else
#define COUNTS(n) true
#endif

/* A node that isn't stopped has something to do before time goes on. */
#ifdef NO_FENCE
#define isDue(n) false
#else
#define isDue(n) (!stopped[n] && deadline[n] == 0 && owned[n] != 0)
#endif

inline checkOne() {
#ifndef ORDER_ONLY
    assert(!(believes(0) && believes(1)))
#else
    skip
#endif
}

/* The owner's epoch ends: nothing is taken or written in it from now on. */
inline fence(n) {
    owned[n] = 0;
    handing[n] = false
}

inline expire(n) {
    lease[n] = 0;
    if
    :: owner == n -> owner = NO_NODE
    :: else
    fi
}

inline tickLease(n) {
    if
    :: lease[n] > 1 -> lease[n]--
    :: lease[n] == 1 -> expire(n)
    :: else
    fi
}

inline tickNode(n) {
    if
    /* A clock may miss one tick in the life of a renewal: the margin is for that. */
    :: !(deadline[n] > 0 && slow[n]) && !(renewal[n] != NOTHING && slower[n]) && deadline[n] > 0 -> slow[n] = true; slower[n] = true
    :: COUNTS(n) ->
        if
        :: deadline[n] > 0 -> deadline[n]--
        :: else
        fi;
        if
        :: renewal[n] != NOTHING && age[n] < TTL -> age[n]++
        :: else
        fi
#ifdef BLIND_RESUME
    :: stopped[n] -> skip
#endif
    fi
}

/* Time goes on: the leases in the store, and the clocks of the nodes, stopped or not. The store may be late to end a lease. */
active proctype Time() {
end:
    do
    :: atomic {
        !isDue(0) && !isDue(1) ->
        if
        :: tickLease(0)
        :: skip
        fi;
        tickNode(0);
#ifdef BOTH
        if
        :: tickLease(1)
        :: skip
        fi;
        tickNode(1);
#endif
        checkOne()
    }
    od
}

proctype Node(byte n) {
end:
    do
    /* The end of trust, before anything else. */
#ifndef NO_FENCE
    :: d_step { !stopped[n] && deadline[n] == 0 && owned[n] != 0 -> fence(n) }
#endif

    /* A join or a renewal is sent, and its age begins. */
    :: d_step { hasTroubles(n) && !stopped[n] && !isDue(n) && renewal[n] == NOTHING ->
        if
        :: deadline[n] > 0 -> renewal[n] = RENEW
        :: else -> renewal[n] = JOIN
        fi;
        age[n] = 0;
        slower[n] = false
      }
    :: d_step { !stopped[n] && !isDue(n) && renewal[n] == GRANTED ->
        renewal[n] = NOTHING;
        if
#ifdef FROM_ANSWER
        :: deadline[n] = TRUST; slow[n] = slower[n]
#else
        :: TRUST > age[n] && TRUST - age[n] > deadline[n] -> deadline[n] = TRUST - age[n]; slow[n] = slower[n]
        :: else
#endif
        fi;
        age[n] = 0
      }
    :: d_step { !stopped[n] && renewal[n] == GONE -> renewal[n] = NOTHING; age[n] = 0; deadline[n] = 0 }

    /* A claim, whose answer is taken only with a lease that is trusted. */
    :: d_step { !stopped[n] && deadline[n] > 0 && owned[n] == 0 && !asked[n] && granted[n] == 0 && release[n] == 0 -> asked[n] = true }
    :: atomic { !stopped[n] && granted[n] != 0 ->
        if
        :: deadline[n] > 0 && owned[n] == 0 -> owned[n] = granted[n]
        :: else
        fi;
        granted[n] = 0;
        checkOne()
      }

    /* A hand-over: the subtree stops, and then its key is released. */
    :: d_step { believes(n) && !handing[n] && release[n] == 0 -> handing[n] = true;
#ifdef RELEASE_FIRST
        release[n] = owned[n]
#endif
      }
    :: d_step { !stopped[n] && handing[n] && owned[n] != 0 && !isDue(n) && release[n] == 0 && writing[n] == 0 ->
#ifndef RELEASE_FIRST
        release[n] = owned[n];
#endif
        fence(n)
      }

    /* A write, decided on with a look at the clock; a stop may come before it's on its way, and so it may be late by any time. */
    :: d_step { believes(n) && writing[n] == 0 -> writing[n] = owned[n] }
    od
}

/* The machine of a node is stopped, and goes on. */
proctype Stops(byte n) {
end:
    do
    :: d_step { !stopped[n] -> stopped[n] = true }
    :: atomic { stopped[n] -> stopped[n] = false; checkOne() }
    od
}

/* What arrives at the store and at the log, and what doesn't. */
active proctype Network() {
    byte n;
end:
    do
    :: atomic {
        if
        :: n = 0
        :: n = 1
        fi;
        if
        /* A join: the node has another lease from now on, and nothing hangs on it. Its requests on the one before are void. */
        :: renewal[n] == JOIN ->
            expire(n);
            lease[n] = TTL;
            asked[n] = false;
            granted[n] = 0;
            renewal[n] = GRANTED
        :: renewal[n] == RENEW ->
            if
            :: lease[n] > 0 -> lease[n] = TTL; renewal[n] = GRANTED
            :: else -> renewal[n] = GONE
            fi
        :: renewal[n] != NOTHING -> renewal[n] = NOTHING
        /* A claim: the key is created unless there is one; that of the node's own lease is told again. */
        :: asked[n] && lease[n] > 0 && owner == NO_NODE && epoch < EPOCHS ->
            epoch++;
            owner = n;
            asked[n] = false;
            granted[n] = epoch
        :: asked[n] -> asked[n] = false
        :: granted[n] != 0 -> granted[n] = 0
        /* A release, of the very key. */
        :: release[n] != 0 ->
            if
            :: owner == n && epoch == release[n] -> owner = NO_NODE
            :: else
            fi;
            release[n] = 0
        /* A foreign hand's or a node's own request that was late: the key is deleted while its owner runs. Only the gate bears that. */
#ifdef FOREIGN
        :: owner != NO_NODE -> owner = NO_NODE
#endif
        /* A write reaches the log. */
        :: writing[n] != 0 ->
            if
#if !defined(NO_GATE) && !defined(LOWER_GATE)
            :: writing[n] < seen -> skip
#endif
#ifdef LOWER_GATE
            :: writing[n] + 1 < seen -> skip
#endif
            :: else ->
                assert(writing[n] >= latest);
                latest = writing[n];
                seen = writing[n]
            fi;
            writing[n] = 0
        :: writing[n] != 0 -> writing[n] = 0
        fi
    }
    od
}

init {
    atomic {
#ifndef BOTH
        lease[1] = TTL;
        deadline[1] = TRUST;
#endif
        run Node(0);
        run Node(1);
        run Stops(0);
#ifdef BOTH
        run Stops(1)
#endif
    }
}
