#ifndef COORDINATOR_CCONSOLE_ASSETS_H
#define COORDINATOR_CCONSOLE_ASSETS_H

#include <stddef.h>

// The files of the console's page, which the compiler copies into the program.

struct coordinator_console_asset {
    // The path at which the file is served.
    const char *path;
    const char *media_type;
    const unsigned char *bytes;
    size_t count;
};

// The files, and their number.
const struct coordinator_console_asset *coordinator_console_assets(size_t *count);

#endif
