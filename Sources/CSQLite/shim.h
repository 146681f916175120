#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H
#include <sqlite3.h>
#include <sys/statfs.h>

// Returns the number of the file system that an open file lies on, see statfs(2); 0: it isn't known.
static inline unsigned int coordinator_sqlite_file_system(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 ? (unsigned int)status.f_type : 0;
}
#endif
