// Workers that dial their parent on nng's byte streams, say hello, are told to start, and say that they are ready: what the start of a
// worker can't do without, in a C program that does nothing else.
#include "Streams.h"
#include <spawn.h>

enum { COUNT = 50, WARM_UP_COUNT = 5 };

extern char **environ;
static char address[128];
static nng_stream_listener *listener;

struct worker {
    pid_t process;
    struct connection connection;
};

static void work(void)
{
    char bytes[SIZE] = { 0 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct connection connection = dialled(address);
    transfer(&connection, bytes, nng_stream_send);
    transfer(&connection, bytes, nng_stream_recv);
    transfer(&connection, bytes, nng_stream_send);
    for (;;) pause();
}

// Returns when the worker has said hello.
static struct worker spawned(char *directory)
{
    char bytes[SIZE];
    char *arguments[] = { "worker", directory, NULL };
    struct worker worker;
    check(posix_spawn(&worker.process, "/proc/self/exe", NULL, NULL, arguments, environ) != 0, "spawn");
    worker.connection = accepted(listener);
    transfer(&worker.connection, bytes, nng_stream_recv);
    return worker;
}

// Returns when the worker has said that it's ready.
static void start(struct worker *worker)
{
    char bytes[SIZE] = { 0 };
    transfer(&worker->connection, bytes, nng_stream_send);
    transfer(&worker->connection, bytes, nng_stream_recv);
}

static void end(struct worker *worker)
{
    kill(worker->process, SIGKILL);
    waitpid(worker->process, NULL, 0);
    // At once: nng's poller spins while there is a stream whose peer has gone and which isn't read.
    nng_stream_free(worker->connection.stream);
    nng_aio_free(worker->connection.aio);
}

// Prints the p50 and the p99 of the time until a worker is ready: from its spawn, or from the kill of the one before.
static void measure_starts(char *directory, int follows_kill, int is_spare)
{
    static long times[COUNT];
    for (int round = -WARM_UP_COUNT; round < COUNT; round++) {
        struct worker former = { 0 }, next = { 0 };
        if (follows_kill) {
            former = spawned(directory);
            start(&former);
        }
        if (is_spare) next = spawned(directory);
        nng_msleep(10);
        long begin = nanoseconds();
        if (follows_kill) end(&former);
        if (!is_spare) next = spawned(directory);
        start(&next);
        if (round >= 0) times[round] = nanoseconds() - begin;
        end(&next);
    }
    qsort(times, COUNT, sizeof *times, ascending);
    printf("p50 %ld\np99 %ld\n", times[COUNT / 2], times[COUNT * 99 / 100]);
}

// NNGWorkers DIRECTORY starts|cold|spare
int main(int count, char **arguments)
{
    int is_worker = strcmp(arguments[0], "worker") == 0;
    if (!is_worker && count != 3) {
        fprintf(stderr, "usage: %s DIRECTORY starts|cold|spare\n", arguments[0]);
        return 64;
    }
    make_address(address, sizeof address, 2, arguments, "workers");
    if (is_worker) work();
    listener = listening(address);
    measure_starts(arguments[1], strcmp(arguments[2], "starts") != 0, strcmp(arguments[2], "spare") == 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
