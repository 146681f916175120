// Round trips between two processes on nng's byte streams as the links of coordinators use them: a read is always under way, since either end may say
// something at any time, and nng calls back with what has come.
//
//     NNGCallbacks DIRECTORY [busy]
//
// With `busy` the one that asks looks for the answer, as coordinators do by default, and offers the processor to other threads between two looks.
#include <pthread.h>
#include <stdatomic.h>
#include "Streams.h"

struct end {
    struct connection reading;
    // Messages and writes take turns: the next one may begin while nng is still at the end of the last one.
    struct connection writing[2];
    char messages[2][SIZE];
    int current;
    size_t filled;
    bool sends_back, is_busy;
    int asked;
    atomic_int answered;
    // Whether the one that asks sleeps, or is about to.
    atomic_bool is_waiting;
    pthread_mutex_t mutex;
    pthread_cond_t has_come;
};

static void read_on(struct end *end)
{
    nng_iov part = { end->messages[end->current] + end->filled, SIZE - end->filled };
    succeed(nng_aio_set_iov(end->reading.aio, 1, &part), "set_iov");
    nng_stream_recv(end->reading.stream, end->reading.aio);
}

static void note_answer(struct end *end)
{
    atomic_fetch_add(&end->answered, 1);
    if (!atomic_load(&end->is_waiting)) return;
    pthread_mutex_lock(&end->mutex);
    pthread_mutex_unlock(&end->mutex);
    pthread_cond_signal(&end->has_come);
}

static void arrived(void *argument)
{
    struct end *end = argument;
    if (nng_aio_result(end->reading.aio) != 0) {
        if (end->sends_back) _exit(0);
        fprintf(stderr, "read: %s\n", nng_strerror(nng_aio_result(end->reading.aio)));
        _exit(1);
    }
    end->filled += nng_aio_count(end->reading.aio);
    if (end->filled < SIZE) return read_on(end);
    int current = end->current;
    end->current ^= 1;
    end->filled = 0;
    // First, since both directions of a stream have one lock: the other way round takes twice as long.
    read_on(end);
    if (end->sends_back) transfer(&end->writing[current], end->messages[current], nng_stream_send);
    else note_answer(end);
}

static struct end *begun(struct connection connection, bool sends_back, bool is_busy)
{
    struct end *end = calloc(1, sizeof *end);
    check(!end, "calloc");
    end->reading = end->writing[0] = end->writing[1] = connection;
    end->sends_back = sends_back;
    end->is_busy = is_busy;
    pthread_mutex_init(&end->mutex, NULL);
    pthread_cond_init(&end->has_come, NULL);
    succeed(nng_aio_alloc(&end->reading.aio, arrived, end), "aio");
    for (int index = 0; index < 2; index++) succeed(nng_aio_alloc(&end->writing[index].aio, NULL, NULL), "aio");
    read_on(end);
    return end;
}

static void echo(void *address)
{
    begun(dialled(address), true, false);
    for (;;) pause();
}

static void await_answer(struct end *end)
{
    long begin = nanoseconds();
    while (end->is_busy && atomic_load(&end->answered) != end->asked && nanoseconds() - begin < 200000) sched_yield();
    if (atomic_load(&end->answered) == end->asked) return;
    pthread_mutex_lock(&end->mutex);
    atomic_store(&end->is_waiting, true);
    while (atomic_load(&end->answered) != end->asked) pthread_cond_wait(&end->has_come, &end->mutex);
    atomic_store(&end->is_waiting, false);
    pthread_mutex_unlock(&end->mutex);
}

static void ask(void *argument)
{
    struct end *end = argument;
    char bytes[SIZE] = { 0 };
    end->asked++;
    transfer(&end->writing[0], bytes, nng_stream_send);
    await_answer(end);
}

int main(int count, char **arguments)
{
    char address[128];
    bool is_busy = takes_busy(&count, arguments);
    make_address(address, sizeof address, count, arguments, "callbacks");
    start_echo(echo, address);
    struct end *end = begun(accepted(listening(address)), false, is_busy);
    measure(ask, end);
    unlink(address + strlen("ipc://"));
    fflush(stdout);
    // The other end goes with this one, whose read is still under way.
    _exit(0);
}
