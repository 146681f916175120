// Round trips between two processes on nng's byte streams with aio: what the links of coordinators are made of, and nothing else.
#include "Streams.h"

static void echo(void *address)
{
    struct connection connection = dialled(address);
    char bytes[SIZE];
    for (int round = 0; round < ROUNDS + WARM_UP; round++) {
        transfer(&connection, bytes, nng_stream_recv);
        transfer(&connection, bytes, nng_stream_send);
    }
}

static void round_trip(void *connection)
{
    char bytes[SIZE] = { 0 };
    transfer(connection, bytes, nng_stream_send);
    transfer(connection, bytes, nng_stream_recv);
}

int main(int count, char **arguments)
{
    char address[128];
    make_address(address, sizeof address, count, arguments, "streams");
    pid_t child = start_echo(echo, address);
    struct connection connection = accepted(listening(address));
    measure(round_trip, &connection);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
