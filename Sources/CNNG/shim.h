#ifndef CNNG_SHIM_H
#define CNNG_SHIM_H
#include <nng/nng.h>
#include <nng/transport/ipc/ipc.h>
// Only the tests use this: the real SP socket, which this package's pair0 framing must be able to talk to.
#include <nng/protocol/pair0/pair.h>
#endif
