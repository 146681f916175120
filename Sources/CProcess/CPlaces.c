#include "CCalls.h"
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

// The walk along a path, each step of which is a descriptor, so that nothing that has been looked at can be replaced. A process uses it too
// that runs in its parent's memory: see CCalls.h.

enum { link_limit = 32, attempt_limit = 16 };

struct walk {
    struct coordinator_place *place;
    // The permissions of directories that are made on the way; 0: none are.
    mode_t directory_mode;
    int links;
    // What is left of the path.
    char rest[PATH_MAX];
};

// Copies a text, and returns its length, or the negated errno when there is no room for it.
IN_CHILD static long copy(char *target, long capacity, const char *source, long count) {
    for (long index = 0; index < capacity; index++) {
        if (index == count || source[index] == 0) {
            target[index] = 0;
            return index;
        }
        target[index] = source[index];
    }
    return -ENAMETOOLONG;
}

// Whether a user has no number in this process's namespace of users, as the owners of the host's files in a container: no process here is that
// user's. The kernel shows 65534 for all of them, unless that number is given away.
IN_CHILD static int is_outside(uid_t user) {
    if (user != 65534) return 0;
    char map[4096];
    int file = (int)CALL(SYS_openat, AT_FDCWD, "/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    long count = CALL(SYS_read, file, map, sizeof map);
    CALL(SYS_close, file);
    // Lines of three numbers: the first one here, the first one outside, how many.
    uint64_t numbers[3];
    numbers[0] = numbers[1] = numbers[2] = 0;
    int column = 0, is_number = 0;
    for (long index = 0; index < count; index++) {
        if (map[index] >= '0' && map[index] <= '9') {
            numbers[column] = numbers[column] * 10 + (uint64_t)(map[index] - '0');
            is_number = 1;
        } else if (is_number) {
            is_number = 0;
            if (++column < 3) continue;
            if (user >= numbers[0] && user - numbers[0] < numbers[2]) return 0;
            numbers[0] = numbers[1] = numbers[2] = 0;
            column = 0;
        }
    }
    return count > 0;
}

IN_CHILD int coordinator_place_is_trusted(uid_t owner) {
    return owner == 0 || owner == (uid_t)CALL(SYS_geteuid) || is_outside(owner);
}

IN_CHILD static int refuse(struct coordinator_place *place, int refusal, const struct statx *entry, const char *name) {
    place->refusal = refusal;
    place->entry_owner = entry->stx_uid;
    copy(place->entry, sizeof place->entry, name, NAME_MAX);
    return -COORDINATOR_PLACE_REFUSED;
}

IN_CHILD static int look(int descriptor, struct statx *entry) {
    return (int)CALL(SYS_statx, descriptor, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_NLINK, entry);
}

// Goes on to an entry: behind the first one that is another user's, all have to be that user's.
IN_CHILD static int pass(struct coordinator_place *place, const struct statx *entry, const char *name) {
    if (!coordinator_place_is_trusted(place->owner)) {
        return entry->stx_uid == place->owner ? 0 : refuse(place, COORDINATOR_PLACE_LEADS_ELSEWHERE, entry, name);
    }
    if (!coordinator_place_is_trusted(entry->stx_uid)) {
        place->owner = entry->stx_uid;
        place->group = entry->stx_gid;
    }
    return 0;
}

// Enters a directory, whose descriptor it takes.
IN_CHILD static int enter(struct coordinator_place *place, int directory, const struct statx *entry, const char *name) {
    int result = (entry->stx_mode & S_IFMT) == S_IFDIR ? pass(place, entry, name) : -ENOTDIR;
    if (result < 0) {
        CALL(SYS_close, directory);
        return result;
    }
    coordinator_place_close(place);
    place->directory = directory;
    place->is_shared = (entry->stx_mode & (S_IWGRP | S_IWOTH)) != 0;
    // In such a directory, as /tmp, only the owner of an entry can replace it.
    place->is_sticky = place->is_shared && (entry->stx_mode & S_ISVTX) != 0;
    if (place->is_shared && !place->is_sticky) place->is_replaceable = 1;
    return 0;
}

// Enters the directory at which the rest of the path begins.
IN_CHILD static int begin(struct walk *walk) {
    struct coordinator_place *place = walk->place;
    const char *proc = "/proc/";
    int matched = 0;
    while (proc[matched] != 0 && walk->rest[matched] == proc[matched]) matched++;
    if (proc[matched] == 0 && coordinator_place_is_trusted(place->owner)) {
        // The kernel's own: what looks like a link there, such as the target of /dev/stdout, is an open file.
        long last = 0;
        for (long index = 0; walk->rest[index] != 0; index++) {
            if (walk->rest[index] == '/') last = index;
        }
        walk->rest[last] = 0;
        int directory = (int)CALL(SYS_openat, AT_FDCWD, walk->rest, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) return directory;
        coordinator_place_close(place);
        place->directory = directory;
        place->is_kernels = 1;
        long length = copy(place->name, sizeof place->name, walk->rest + last + 1, NAME_MAX + 1);
        return length < 0 ? (int)length : 0;
    }
    int directory = (int)CALL(SYS_openat, AT_FDCWD, walk->rest[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return directory;
    struct statx entry;
    int result = look(directory, &entry);
    if (result < 0) {
        CALL(SYS_close, directory);
        return result;
    }
    return enter(place, directory, &entry, "/");
}

// Puts the target of a link, whose descriptor it takes, before the rest of the path.
IN_CHILD static int follow(struct walk *walk, int link, const struct statx *entry, const char *name) {
    char target[PATH_MAX];
    struct coordinator_place *place = walk->place;
    // As the kernel does by fs.protected_symlinks: in a directory in which anyone may make something, such as /tmp, nobody follows another's link.
    int is_strangers = place->is_sticky && coordinator_place_is_trusted(place->owner) && !coordinator_place_is_trusted(entry->stx_uid);
    int result = is_strangers ? refuse(place, COORDINATOR_PLACE_FOREIGN, entry, name) : pass(place, entry, name);
    long length = result < 0 ? 0 : CALL(SYS_readlinkat, link, "", target, sizeof target - 1);
    CALL(SYS_close, link);
    if (result < 0) return result;
    if (length < 0) return (int)length;
    if (++walk->links > link_limit) return -ELOOP;
    if (walk->rest[0] != 0) target[length++] = '/';
    long rest = copy(target + length, (long)sizeof target - length, walk->rest, PATH_MAX);
    if (rest < 0) return (int)rest;
    copy(walk->rest, sizeof walk->rest, target, length + rest);
    return walk->rest[0] == '/' ? begin(walk) : 0;
}

// What is made in another user's directory is made as that user, and is that user's: the change holds for the calling thread.
IN_CHILD static int begin_as_owner(const struct coordinator_place *place) {
    // Who isn't root can become nobody else, and makes files as itself.
    if (coordinator_place_is_trusted(place->owner) || CALL(SYS_geteuid) != 0) return 0;
    CALL(SYS_setfsgid, place->group);
    CALL(SYS_setfsuid, place->owner);
    // A number that no user can have only tells the present one.
    if ((uid_t)CALL(SYS_setfsuid, -1) == place->owner) return 0;
    coordinator_place_end_as_owner();
    return -EPERM;
}

IN_CHILD void coordinator_place_end_as_owner(void) {
    CALL(SYS_setfsuid, CALL(SYS_geteuid));
    CALL(SYS_setfsgid, CALL(SYS_getegid));
}

int coordinator_place_begin_as_owner(const struct coordinator_place *place) {
    return begin_as_owner(place);
}

IN_CHILD static int make_directory(const struct coordinator_place *place, const char *name, mode_t mode) {
    int result = begin_as_owner(place);
    if (result < 0) return result;
    result = (int)CALL(SYS_mkdirat, place->directory, name, mode);
    coordinator_place_end_as_owner();
    if (result < 0 && result != -EEXIST) return result;
    return (int)CALL(SYS_openat, place->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

// Walks until the last name is left.
IN_CHILD static int walk_to_last(struct walk *walk) {
    struct coordinator_place *place = walk->place;
    char name[NAME_MAX + 1];
    while (!place->is_kernels) {
        long start = 0;
        while (walk->rest[start] == '/') start++;
        long end = start;
        while (walk->rest[end] != 0 && walk->rest[end] != '/') end++;
        long length = copy(name, sizeof name, walk->rest + start, end - start);
        if (length < 0) return (int)length;
        while (walk->rest[end] == '/') end++;
        if (walk->rest[end] == 0) {
            copy(place->name, sizeof place->name, length == 0 ? "." : name, NAME_MAX);
            return 0;
        }
        for (long index = 0;; index++) {
            walk->rest[index] = walk->rest[end + index];
            if (walk->rest[index] == 0) break;
        }
        if (name[0] == '.' && name[1] == 0) continue;
        int descriptor = (int)CALL(SYS_openat, place->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor == -ENOENT && walk->directory_mode != 0) descriptor = make_directory(place, name, walk->directory_mode);
        if (descriptor < 0) return descriptor;
        struct statx entry;
        int result = look(descriptor, &entry);
        if (result < 0) {
            CALL(SYS_close, descriptor);
        } else if ((entry.stx_mode & S_IFMT) == S_IFLNK) {
            result = follow(walk, descriptor, &entry, name);
        } else {
            result = enter(place, descriptor, &entry, name);
        }
        if (result < 0) return result;
    }
    return 0;
}

IN_CHILD int coordinator_place_find(const char *path, mode_t directory_mode, struct coordinator_place *place) {
    place->directory = -1;
    place->owner = 0;
    place->group = 0;
    place->is_shared = place->is_sticky = place->is_replaceable = place->is_kernels = place->refusal = 0;
    place->name[0] = place->entry[0] = 0;
    struct walk walk;
    walk.place = place;
    walk.directory_mode = directory_mode;
    walk.links = 0;
    long length = copy(walk.rest, sizeof walk.rest, path, PATH_MAX);
    if (length == 0) return -ENOENT;
    int result = length < 0 ? (int)length : begin(&walk);
    return result < 0 ? result : walk_to_last(&walk);
}

// Compares the file that was opened with the place in which it is.
IN_CHILD static int check(struct coordinator_place *place, const struct statx *file, int looks_only) {
    uid_t owner = place->owner, user = (uid_t)CALL(SYS_geteuid);
    // Who isn't root has files of its own in another user's directory.
    int is_own = user != 0 && file->stx_uid == user;
    if (!is_own && pass(place, file, place->name) < 0) return -COORDINATOR_PLACE_REFUSED;
    if (place->is_sticky && !coordinator_place_is_trusted(file->stx_uid) && owner != file->stx_uid) {
        return refuse(place, COORDINATOR_PLACE_FOREIGN, file, place->name);
    }
    int is_anothers = !coordinator_place_is_trusted(owner), is_regular = (file->stx_mode & S_IFMT) == S_IFREG;
    if (is_regular && file->stx_nlink > 1 && (is_anothers || place->is_shared || place->is_replaceable)) {
        return refuse(place, COORDINATOR_PLACE_HARD_LINK, file, place->name);
    }
    if (!is_regular && !looks_only && !coordinator_place_is_trusted(place->owner)) {
        return refuse(place, COORDINATOR_PLACE_NOT_REGULAR, file, place->name);
    }
    return 0;
}

IN_CHILD int coordinator_place_open(const struct coordinator_place *from, int flags, mode_t mode, struct coordinator_place *place) {
    __builtin_memcpy_inline(place, from, sizeof *place);
    place->directory = (int)CALL(SYS_fcntl, from->directory, F_DUPFD_CLOEXEC, 3);
    if (place->directory < 0) return place->directory;
    struct walk walk;
    walk.place = place;
    walk.directory_mode = 0;
    walk.links = 0;
    flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int result = 0;
    for (int attempt = 0; attempt < attempt_limit + link_limit; attempt++) {
        if (place->is_kernels) {
            result = (int)CALL(SYS_openat, place->directory, place->name, flags, mode);
            break;
        }
        result = (int)CALL(SYS_openat, place->directory, place->name, (flags & ~O_CREAT) | O_NOFOLLOW);
        if (result == -ENOENT && (flags & O_CREAT)) {
            result = begin_as_owner(place);
            if (result < 0) break;
            result = (int)CALL(SYS_openat, place->directory, place->name, flags | O_EXCL | O_NOFOLLOW, mode);
            coordinator_place_end_as_owner();
            // Another process has been quicker.
            if (result == -EEXIST) continue;
            break;
        }
        int is_link = result == -ELOOP, looks_only = is_link || (flags & O_PATH) != 0;
        if (is_link) result = (int)CALL(SYS_openat, place->directory, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (result < 0) break;
        struct statx file;
        int descriptor = result;
        result = look(descriptor, &file);
        if (result >= 0 && (file.stx_mode & S_IFMT) == S_IFLNK && looks_only) {
            walk.rest[0] = 0;
            result = follow(&walk, descriptor, &file, place->name);
            if (result >= 0) result = walk_to_last(&walk);
            if (result < 0) break;
            result = -ELOOP;
            continue;
        }
        if (result >= 0 && !is_link) {
            result = check(place, &file, looks_only);
            if (result >= 0) result = descriptor;
        }
        if (result != descriptor) CALL(SYS_close, descriptor);
        // The link has been replaced by a file meanwhile.
        if (is_link && result >= 0) {
            result = -ELOOP;
            continue;
        }
        break;
    }
    coordinator_place_close(place);
    return result;
}

IN_CHILD int coordinator_place_look(const struct coordinator_place *place, struct coordinator_place *opened) {
    return coordinator_place_open(place, O_PATH, 0, opened);
}

IN_CHILD void coordinator_place_close(struct coordinator_place *place) {
    if (place->directory >= 0) CALL(SYS_close, place->directory);
    place->directory = -1;
}

const char *coordinator_place_name(const struct coordinator_place *place) {
    return place->name;
}

const char *coordinator_place_entry(const struct coordinator_place *place) {
    return place->entry;
}

IN_CHILD int coordinator_place_is_replaceable(const char *path) {
    struct coordinator_place place, file;
    int result = coordinator_place_find(path, 0, &place);
    int is_replaceable = 1;
    if (result >= 0) {
        int descriptor = coordinator_place_look(&place, &file);
        if (descriptor >= 0) {
            CALL(SYS_close, descriptor);
            is_replaceable = file.is_replaceable || file.is_kernels || !coordinator_place_is_trusted(file.owner);
        }
    }
    coordinator_place_close(&place);
    return is_replaceable;
}
