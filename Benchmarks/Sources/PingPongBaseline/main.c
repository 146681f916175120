// The floor: one 64-byte message there and back between two processes, on nng's byte streams with aio, in C.
// Prints the rounds' p50 and p99 in nanoseconds.
#include <nng/nng.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SIZE = 64, ROUNDS = 20000, WARM_UP = 2000 };

static void check(int status, const char *what)
{
    if (status != 0) {
        fprintf(stderr, "%s: %s\n", what, nng_strerror(status));
        exit(1);
    }
}

static void transfer(nng_stream *stream, nng_aio *aio, char *bytes, void (*operation)(nng_stream *, nng_aio *))
{
    size_t done = 0;
    while (done < SIZE) {
        nng_iov part = { bytes + done, SIZE - done };
        check(nng_aio_set_iov(aio, 1, &part), "set_iov");
        operation(stream, aio);
        nng_aio_wait(aio);
        check(nng_aio_result(aio), "transfer");
        done += nng_aio_count(aio);
    }
}

static long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int ascending(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

static void echo(const char *address)
{
    nng_stream_dialer *dialer;
    nng_aio *aio;
    char bytes[SIZE];
    check(nng_aio_alloc(&aio, NULL, NULL), "aio");
    check(nng_stream_dialer_alloc(&dialer, address), "dialer");
    nng_stream_dialer_dial(dialer, aio);
    nng_aio_wait(aio);
    check(nng_aio_result(aio), "dial");
    nng_stream *stream = nng_aio_get_output(aio, 0);
    for (int round = 0; round < ROUNDS + WARM_UP; round++) {
        transfer(stream, aio, bytes, nng_stream_recv);
        transfer(stream, aio, bytes, nng_stream_send);
    }
}

int main(int count, char **arguments)
{
    if (count == 2) {
        echo(arguments[1]);
        return 0;
    }
    char address[64], bytes[SIZE] = { 0 };
    snprintf(address, sizeof address, "ipc:///tmp/ping-pong-%d.sock", getpid());
    nng_stream_listener *listener;
    nng_aio *aio;
    check(nng_aio_alloc(&aio, NULL, NULL), "aio");
    check(nng_stream_listener_alloc(&listener, address), "listener");
    check(nng_stream_listener_listen(listener), "listen");
    pid_t child;
    char *child_arguments[] = { arguments[0], address, NULL };
    check(posix_spawn(&child, "/proc/self/exe", NULL, NULL, child_arguments, environ), "spawn");
    nng_stream_listener_accept(listener, aio);
    nng_aio_wait(aio);
    check(nng_aio_result(aio), "accept");
    nng_stream *stream = nng_aio_get_output(aio, 0);
    static long times[ROUNDS];
    for (int round = -WARM_UP; round < ROUNDS; round++) {
        long start = nanoseconds();
        transfer(stream, aio, bytes, nng_stream_send);
        transfer(stream, aio, bytes, nng_stream_recv);
        if (round >= 0) times[round] = nanoseconds() - start;
    }
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    qsort(times, ROUNDS, sizeof *times, ascending);
    printf("%ld %ld\n", times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
    return 0;
}
