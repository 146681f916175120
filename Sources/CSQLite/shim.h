#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H
#include <sqlite3.h>
#include <sys/statfs.h>

// Returns the number of the file system that a path lies on, see statfs(2); 0: it isn't known. The file isn't opened: to close a descriptor of it
// would give up all locks of this process.
static inline unsigned int coordinator_sqlite_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (unsigned int)status.f_type : 0;
}
#endif
