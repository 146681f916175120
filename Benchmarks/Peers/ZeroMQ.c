// Round trips between two processes on ZeroMQ's pair sockets.
#include "RoundTrips.h"
#include <zmq.h>

static void receive(void *socket, char *bytes) { check(zmq_recv(socket, bytes, SIZE, 0) != SIZE, "receive"); }

static void echo(void *address)
{
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    check(socket == NULL || zmq_connect(socket, address) != 0, "connect");
    char bytes[SIZE];
    for (int round = 0; round < ROUNDS + WARM_UP; round++) {
        receive(socket, bytes);
        check(zmq_send(socket, bytes, SIZE, 0) != SIZE, "send");
    }
    // Both wait until what was sent has left.
    zmq_close(socket);
    zmq_ctx_term(context);
}

static void round_trip(void *socket)
{
    char bytes[SIZE] = { 0 };
    check(zmq_send(socket, bytes, SIZE, 0) != SIZE, "send");
    receive(socket, bytes);
}

int main(int count, char **arguments)
{
    char address[128];
    make_address(address, sizeof address, count, arguments, "zeromq");
    pid_t child = start_echo(echo, address);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    check(socket == NULL || zmq_bind(socket, address) != 0, "bind");
    measure(round_trip, socket);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
