#ifndef COORDINATOR_CPLACES_H
#define COORDINATOR_CPLACES_H

#include <limits.h>
#include <sys/types.h>

// The reasons why a place isn't used.
enum coordinator_place_refusal {
    // What is told in place of an error number, all of which are smaller.
    COORDINATOR_PLACE_REFUSED = 4096,
    // An entry on the way is of another owner than what leads there.
    COORDINATOR_PLACE_LEADS_ELSEWHERE = 1,
    // The file has other names, and another user may have given it this one.
    COORDINATOR_PLACE_HARD_LINK = 2,
    // Another user has put a pipe, a socket or a device there.
    COORDINATOR_PLACE_NOT_REGULAR = 3,
    // Another user has put a file where everybody can.
    COORDINATOR_PLACE_FOREIGN = 4,
};

// The place of a file: its directory, which stays the same whatever becomes of its name, and the file's name there.
struct coordinator_place {
    // -1: none.
    int directory;
    // The user, other than root and this process's, whom all of the way belongs to from some entry on, links included; 0: there is none.
    uid_t owner;
    gid_t group;
    // Whether other users may make entries in the directory, and in a sticky one.
    int is_shared;
    int is_sticky;
    // Whether other users may replace an entry on the way, or the file.
    int is_replaceable;
    // Whether the place is in /proc, where the kernel follows links to open files.
    int is_kernels;
    char name[NAME_MAX + 1];
    // What was refused, why and whose it is.
    int refusal;
    uid_t entry_owner;
    char entry[NAME_MAX + 1];
};

// Finds the place of a path step by step, following the links that root or this process's user has made. Behind an entry of another user only
// that user's are followed, so that nobody can lead this process to a file of somebody else. Unless `directory_mode` is 0, those that are
// missing are made, with that mode less the umask.
//
// Opens the file at a place, by `flags`, never waiting; a file that is made in another user's place is that user's. `opened` gets the place at
// which it was found, behind links, of which it keeps nothing open.
//
// Looking is as opening, but not even a device notices it; the descriptor is good for fstat(2) alone.
//
// They return a value below zero after a failure: the negated errno, or -COORDINATOR_PLACE_REFUSED with the reason in the place.
int coordinator_place_find(const char *path, mode_t directory_mode, struct coordinator_place *place);
int coordinator_place_open(const struct coordinator_place *place, int flags, mode_t mode, struct coordinator_place *opened);
int coordinator_place_look(const struct coordinator_place *place, struct coordinator_place *opened);
void coordinator_place_close(struct coordinator_place *place);
const char *coordinator_place_name(const struct coordinator_place *place);
const char *coordinator_place_entry(const struct coordinator_place *place);

// Whether a user is root, this process's, or one of the host's that no process of this container can be.
int coordinator_place_is_trusted(uid_t owner);
// Whether another user could have put the file at a path there; a path that can't be looked at counts as one.
int coordinator_place_is_replaceable(const char *path);

// Has the calling thread make files as the user whose the place is, if that is another one, until the second call.
int coordinator_place_begin_as_owner(const struct coordinator_place *place);
void coordinator_place_end_as_owner(void);

#endif
