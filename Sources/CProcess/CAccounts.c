#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CAccounts.h"

#include <endian.h>
#include <errno.h>
#include <grp.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

// The most that an entry may take: a group with very many members.
static const size_t largest_entry = 16 * 1024 * 1024;

static int take(const struct passwd *entry, struct coordinator_account *account) {
    account->user = entry->pw_uid;
    account->group = entry->pw_gid;
    account->name = strdup(entry->pw_name);
    account->home = strdup(entry->pw_dir);
    account->shell = strdup(entry->pw_shell);
    if (account->name != NULL && account->home != NULL && account->shell != NULL) return 1;
    coordinator_account_release(account);
    return -ENOMEM;
}

// Some sources report an unknown name as an error; see getpwnam(3).
static int failure(int error) {
    return error == ENOENT || error == ESRCH || error == EBADF || error == EPERM ? 0 : -error;
}

int coordinator_account_of_user(const char *name, uid_t user, struct coordinator_account *account) {
    for (size_t size = 4096; size <= largest_entry; size *= 4) {
        char *buffer = malloc(size);
        if (buffer == NULL) return -ENOMEM;
        struct passwd entry, *found = NULL;
        int error = name != NULL ? getpwnam_r(name, &entry, buffer, size, &found) : getpwuid_r(user, &entry, buffer, size, &found);
        int result = found != NULL ? take(found, account) : failure(error);
        free(buffer);
        if (error != ERANGE) return result;
    }
    return -ERANGE;
}

void coordinator_account_release(struct coordinator_account *account) {
    free(account->name);
    free(account->home);
    free(account->shell);
}

int coordinator_account_of_group(const char *name, gid_t *group) {
    for (size_t size = 4096; size <= largest_entry; size *= 4) {
        char *buffer = malloc(size);
        if (buffer == NULL) return -ENOMEM;
        struct group entry, *found = NULL;
        int error = getgrnam_r(name, &entry, buffer, size, &found);
        int result = found != NULL ? 1 : failure(error);
        if (found != NULL) *group = found->gr_gid;
        free(buffer);
        if (error != ERANGE) return result;
    }
    return -ERANGE;
}

int coordinator_account_groups(const char *name, gid_t group, gid_t *groups, int capacity) {
    int count = capacity;
    getgrouplist(name, group, groups, &count);
    return count;
}

static struct posix_acl_xattr_entry entry(int tag, int permissions, uint32_t number) {
    return (struct posix_acl_xattr_entry){.e_tag = htole16(tag), .e_perm = htole16(permissions), .e_id = htole32(number)};
}

int coordinator_admit_groups(const char *path, const gid_t *groups, int count) {
    size_t size = sizeof(struct posix_acl_xattr_header) + (size_t)(count + 4) * sizeof(struct posix_acl_xattr_entry);
    struct posix_acl_xattr_header *list = malloc(size);
    if (list == NULL) return ENOMEM;
    list->a_version = htole32(POSIX_ACL_XATTR_VERSION);
    struct posix_acl_xattr_entry *entries = (struct posix_acl_xattr_entry *)(list + 1);
    const int both = ACL_READ | ACL_WRITE;
    *entries++ = entry(ACL_USER_OBJ, both, ACL_UNDEFINED_ID);
    *entries++ = entry(ACL_GROUP_OBJ, 0, ACL_UNDEFINED_ID);
    for (int i = 0; i < count; i++) *entries++ = entry(ACL_GROUP, both, groups[i]);
    *entries++ = entry(ACL_MASK, both, ACL_UNDEFINED_ID);
    *entries++ = entry(ACL_OTHER, 0, ACL_UNDEFINED_ID);
    int result = setxattr(path, "system.posix_acl_access", list, size, 0) == 0 ? 0 : errno;
    free(list);
    return result;
}
