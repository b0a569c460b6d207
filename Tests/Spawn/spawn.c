#define _GNU_SOURCE
#include "CSpawn.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

static int add(posix_spawn_file_actions_t *actions, const int descriptors[3]) {
    for (int number = 0; number < 3; number++) {
        int result = descriptors[number] == SPAWN_NULL
                         ? posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0)
                         : posix_spawn_file_actions_adddup2(actions, descriptors[number], number);
        if (result != 0) return result;
    }
#ifdef __APPLE__
    return 0;
#else
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
}

int spawn_child(pid_t *identifier, const char *path, char *const arguments[], char *const variables[],
                const int descriptors[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, ignored;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#ifdef __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, flags);
    // Dispatch's threads block signals, and a child would go on with it.
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    // Nor is a child to ignore what the tests, or who has started them, ignore.
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    sigaddset(&ignored, SIGINT);
    sigaddset(&ignored, SIGTERM);
    sigaddset(&ignored, SIGHUP);
    sigaddset(&ignored, SIGTSTP);
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    int result = add(&actions, descriptors);
    if (result == 0) result = posix_spawn(identifier, path, &actions, &attributes, arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return result;
}

pid_t spawn_fork(void) { return fork(); }

int spawn_terminal(int *output) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return -1;
    *output = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    return *output < 0 ? -1 : terminal;
}
