// Round trips between two processes on nng's byte streams as the links of coordinators use them: a read is always under way, since either end may say
// something at any time, and nng calls back with what has come.
//
//     NNGCallbacks DIRECTORY [busy]
//
// With `busy` the one that asks looks for the answer, as coordinators do by default, and offers the processor to other threads between two looks.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "Streams.h"

struct end {
    nng_stream *stream;
    nng_aio *reading, *writing;
    // The next message is read while the last one is looked at.
    char messages[2][SIZE];
    int current;
    size_t filled;
    bool sends_back, is_busy;
    int asked;
    atomic_int answered;
    pthread_mutex_t mutex;
    pthread_cond_t has_come;
};

static void submit(nng_aio *aio, char *bytes, size_t count, nng_stream *stream, void (*operation)(nng_stream *, nng_aio *))
{
    nng_iov part = { bytes, count };
    succeed(nng_aio_set_iov(aio, 1, &part), "set_iov");
    operation(stream, aio);
}

static void read_on(struct end *end)
{
    submit(end->reading, end->messages[end->current] + end->filled, SIZE - end->filled, end->stream, nng_stream_recv);
}

static void send_all(struct end *end, char *bytes)
{
    for (size_t done = 0; done < SIZE; done += nng_aio_count(end->writing)) {
        submit(end->writing, bytes + done, SIZE - done, end->stream, nng_stream_send);
        nng_aio_wait(end->writing);
        succeed(nng_aio_result(end->writing), "send");
    }
}

static void note_answer(struct end *end)
{
    if (end->is_busy) {
        atomic_fetch_add(&end->answered, 1);
        return;
    }
    pthread_mutex_lock(&end->mutex);
    atomic_fetch_add(&end->answered, 1);
    pthread_cond_signal(&end->has_come);
    pthread_mutex_unlock(&end->mutex);
}

static void arrived(void *argument)
{
    struct end *end = argument;
    // The other end has gone.
    if (nng_aio_result(end->reading) != 0) {
        if (end->sends_back) _exit(0);
        return;
    }
    end->filled += nng_aio_count(end->reading);
    if (end->filled < SIZE) return read_on(end);
    char *message = end->messages[end->current];
    end->current ^= 1;
    end->filled = 0;
    read_on(end);
    if (end->sends_back) send_all(end, message);
    else note_answer(end);
}

static struct end *begun(struct connection connection, bool sends_back, bool is_busy)
{
    struct end *end = calloc(1, sizeof *end);
    check(!end, "calloc");
    end->stream = connection.stream;
    end->sends_back = sends_back;
    end->is_busy = is_busy;
    pthread_mutex_init(&end->mutex, NULL);
    pthread_cond_init(&end->has_come, NULL);
    succeed(nng_aio_alloc(&end->reading, arrived, end), "aio");
    succeed(nng_aio_alloc(&end->writing, NULL, NULL), "aio");
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
    pthread_mutex_lock(&end->mutex);
    // One that has looked in vain sleeps a little: it isn't woken.
    struct timespec moment;
    while (atomic_load(&end->answered) != end->asked) {
        clock_gettime(CLOCK_REALTIME, &moment);
        moment.tv_sec += moment.tv_nsec >= 999000000;
        moment.tv_nsec = (moment.tv_nsec + 1000000) % 1000000000;
        pthread_cond_timedwait(&end->has_come, &end->mutex, &moment);
    }
    pthread_mutex_unlock(&end->mutex);
}

static void ask(void *argument)
{
    struct end *end = argument;
    char bytes[SIZE] = { 0 };
    end->asked++;
    send_all(end, bytes);
    await_answer(end);
}

int main(int count, char **arguments)
{
    char address[128];
    bool is_busy = count == 3 && strcmp(arguments[2], "busy") == 0;
    make_address(address, sizeof address, is_busy ? 2 : count, arguments, "callbacks");
    pid_t child = start_echo(echo, address);
    struct end *end = begun(accepted(listening(address)), false, is_busy);
    measure(ask, end);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
