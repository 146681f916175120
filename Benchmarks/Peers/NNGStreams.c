// Round trips between two processes on nng's byte streams with aio: what the links of coordinators are made of, and nothing else.
//
//     NNGStreams DIRECTORY [busy]
//
// With `busy` the one that asks looks for the answer, as coordinators do by default, and offers the processor to other threads between two looks.
#include "Streams.h"

static void echo(void *address) { send_back(dialled(address)); }

int main(int count, char **arguments)
{
    char address[128];
    bool is_busy = takes_busy(&count, arguments);
    make_address(address, sizeof address, count, arguments, "streams");
    pid_t child = start_echo(echo, address);
    struct connection connection = accepted(listening(address));
    if (is_busy) connection.await = await_busily;
    measure(round_trip, &connection);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
