// nng's byte streams, one operation after the other: what the links of coordinators are made of.
#pragma once
#include "RoundTrips.h"
#include <nng/nng.h>
#include <sched.h>
#include <stdbool.h>
#include <nng/supplemental/util/platform.h>

static inline void succeed(int status, const char *what)
{
    if (status == 0) return;
    fprintf(stderr, "%s: %s\n", what, nng_strerror(status));
    exit(1);
}

struct connection {
    nng_stream *stream;
    nng_aio *aio;
    // Returns when an operation has ended.
    void (*await)(nng_aio *);
};

// Looks for the end of an operation for 200 microseconds before the thread sleeps, as coordinators do by default. nng 1.5 doesn't say whether an
// operation has ended, but how many bytes it has moved: none before its end.
static inline void await_busily(nng_aio *aio)
{
    long begin = nanoseconds();
    while (nng_aio_count(aio) == 0 && nanoseconds() - begin < 200000) sched_yield();
    nng_aio_wait(aio);
}

static inline void transfer(struct connection *connection, char *bytes, void (*operation)(nng_stream *, nng_aio *))
{
    for (size_t done = 0; done < SIZE;) {
        nng_iov part = { bytes + done, SIZE - done };
        succeed(nng_aio_set_iov(connection->aio, 1, &part), "set_iov");
        operation(connection->stream, connection->aio);
        connection->await(connection->aio);
        succeed(nng_aio_result(connection->aio), "transfer");
        done += nng_aio_count(connection->aio);
    }
}

// Whether the last argument is `busy`, which isn't counted then.
static inline bool takes_busy(int *count, char **arguments)
{
    bool is_busy = *count == 3 && strcmp(arguments[2], "busy") == 0;
    if (is_busy) *count = 2;
    return is_busy;
}

static inline struct connection connection_after(nng_aio *aio)
{
    nng_aio_wait(aio);
    succeed(nng_aio_result(aio), "connect");
    return (struct connection) { nng_aio_get_output(aio, 0), aio, nng_aio_wait };
}

static inline nng_stream_dialer *dialer_of(const char *address)
{
    nng_stream_dialer *dialer;
    succeed(nng_stream_dialer_alloc(&dialer, address), "dialer");
    return dialer;
}

// Dials until the listener is there.
static inline struct connection connected(nng_stream_dialer *dialer)
{
    nng_aio *aio;
    succeed(nng_aio_alloc(&aio, NULL, NULL), "aio");
    for (int attempt = 0; attempt < 1000; attempt++) {
        nng_stream_dialer_dial(dialer, aio);
        nng_aio_wait(aio);
        if (nng_aio_result(aio) == 0) break;
        nng_msleep(5);
    }
    return connection_after(aio);
}

static inline nng_stream_listener *listening(const char *address)
{
    nng_stream_listener *listener;
    succeed(nng_stream_listener_alloc(&listener, address), "listener");
    succeed(nng_stream_listener_listen(listener), "listen");
    return listener;
}

static inline struct connection accepted(nng_stream_listener *listener)
{
    nng_aio *aio;
    succeed(nng_aio_alloc(&aio, NULL, NULL), "aio");
    nng_stream_listener_accept(listener, aio);
    return connection_after(aio);
}

static inline struct connection dialled(const char *address) { return connected(dialer_of(address)); }

// The two ends of the round trips.
static inline void send_back(struct connection connection)
{
    char bytes[SIZE];
    for (int round = 0; round < ROUNDS + WARM_UP; round++) {
        transfer(&connection, bytes, nng_stream_recv);
        transfer(&connection, bytes, nng_stream_send);
    }
}

static inline void round_trip(void *connection)
{
    char bytes[SIZE] = { 0 };
    transfer(connection, bytes, nng_stream_send);
    transfer(connection, bytes, nng_stream_recv);
}
