// Round trips between two processes on nng's pair0 sockets.
#include "RoundTrips.h"
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/supplemental/util/platform.h>

static void succeed(int status, const char *what)
{
    if (status == 0) return;
    fprintf(stderr, "%s: %s\n", what, nng_strerror(status));
    exit(1);
}

static void receive(nng_socket socket, char *bytes)
{
    size_t size = SIZE;
    succeed(nng_recv(socket, bytes, &size, 0), "receive");
    if (size != SIZE) exit(1);
}

static void echo(void *address)
{
    nng_socket socket;
    succeed(nng_pair0_open(&socket), "open");
    // Dials again until the listener is there.
    succeed(nng_dial(socket, address, NULL, NNG_FLAG_NONBLOCK), "dial");
    char bytes[SIZE];
    for (int round = 0; round < ROUNDS + WARM_UP; round++) {
        receive(socket, bytes);
        succeed(nng_send(socket, bytes, SIZE, 0), "send");
    }
    // Closing drops what hasn't left yet: the last reply.
    nng_msleep(100);
}

static void round_trip(void *socket)
{
    char bytes[SIZE] = { 0 };
    succeed(nng_send(*(nng_socket *)socket, bytes, SIZE, 0), "send");
    receive(*(nng_socket *)socket, bytes);
}

int main(int count, char **arguments)
{
    char address[128];
    make_address(address, sizeof address, count, arguments, "pair");
    pid_t child = start_echo(echo, address);
    nng_socket socket;
    succeed(nng_pair0_open(&socket), "open");
    succeed(nng_listen(socket, address, NULL, 0), "listen");
    measure(round_trip, &socket);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
