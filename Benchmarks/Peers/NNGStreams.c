// Round trips between two processes on nng's byte streams with aio: what the links of coordinators are made of, and nothing else.
//
//     NNGStreams DIRECTORY [busy]
//
// With `busy` the one that asks looks for the answer, as coordinators do by default, and offers the processor to other threads between two looks.
#include <stdbool.h>
#include "Streams.h"

static void echo(void *address) { send_back(dialled(address)); }

int main(int count, char **arguments)
{
    char address[128];
    bool is_busy = count == 3 && strcmp(arguments[2], "busy") == 0;
    make_address(address, sizeof address, is_busy ? 2 : count, arguments, "streams");
    pid_t child = start_echo(echo, address);
    struct connection connection = accepted(listening(address));
    if (is_busy) connection.await = await_busily;
    measure(round_trip, &connection);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
