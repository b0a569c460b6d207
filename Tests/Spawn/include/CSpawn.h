#ifndef CSPAWN_H
#define CSPAWN_H

#include <sys/types.h>

/// For a place in `descriptors`: nothing to read, and nowhere to write.
#define SPAWN_NULL (-1)

/// Starts a process with three descriptors and no other file of the caller, no signal blocked.
///
/// Returns 0, or what is wrong as an errno.
int spawn_child(pid_t *identifier, const char *path, char *const arguments[], char *const variables[],
                const int descriptors[3]);

/// fork(2), which Swift refuses to import on Apple platforms: in the child the calling thread is the only one.
pid_t spawn_fork(void);

/// Opens a terminal for a child to write to, as `output`, and returns the side that reads it; -1 where there is none.
int spawn_terminal(int *output);

#endif
