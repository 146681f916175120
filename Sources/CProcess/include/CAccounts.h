#ifndef COORDINATOR_CACCOUNTS_H
#define COORDINATOR_CACCOUNTS_H

#include <sys/types.h>

// Accounts of users and groups (passwd(5), group(5)), for Swift, which has no fixed buffers. The calls may ask servers, and so block.
// Convention: a result below zero is the negated errno; 0: there is no such account.

struct coordinator_account {
    uid_t user;
    gid_t group;
    char *name;
    char *home;
    char *shell;
};

// getpwnam_r(3), getpwuid_r(3) when `name` is NULL: 1 when there is such a user. The caller releases the texts.
int coordinator_account_of_user(const char *name, uid_t user, struct coordinator_account *account);

void coordinator_account_release(struct coordinator_account *account);

// getgrnam_r(3): 1 when there is such a group.
int coordinator_account_of_group(const char *name, gid_t *group);

// getgrouplist(3): the number of a user's groups, the given one among them; only `capacity` of them are filled in.
int coordinator_account_groups(const char *name, gid_t group, gid_t *groups, int capacity);

// setxattr(2): has the members of the groups read and write at a socket, and no one else but its owner. Returns 0 or the errno.
int coordinator_admit_groups(const char *path, const gid_t *groups, int count);

#endif
