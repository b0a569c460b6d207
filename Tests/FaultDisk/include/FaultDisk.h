#ifndef DIAMOND_FAULT_DISK_H
#define DIAMOND_FAULT_DISK_H

#include <stdbool.h>
#include <stdint.h>

// A SQLite VFS over the default one: it counts the calls on the files of one directory, lets one of them fail, and
// forgets what was written and not synced. A disk is used from any thread; there may be any number of them.
//
// Nothing reaches the real disk's platters: xSync says what would be there after a loss of power, no more.

/// The kinds of call that are counted.
enum fault_disk_operation {
    FAULT_DISK_OPEN,
    FAULT_DISK_MAKE,
    FAULT_DISK_READ,
    FAULT_DISK_WRITE,
    FAULT_DISK_TRUNCATE,
    FAULT_DISK_SYNC,
    FAULT_DISK_SIZE,
    FAULT_DISK_DELETE,
    FAULT_DISK_ACCESS,
    FAULT_DISK_LOCK,
    FAULT_DISK_MAP,
    FAULT_DISK_MAP_LOCK,
    FAULT_DISK_OPERATIONS
};

/// What can go wrong. Each fault fits some kinds of call, and counts those alone.
enum fault_disk_fault {
    /// Nothing goes wrong; fits every call.
    FAULT_DISK_NONE,
    /// No space is left: what grows a file fails.
    FAULT_DISK_FULL,
    FAULT_DISK_READ_ERROR,
    FAULT_DISK_WRITE_ERROR,
    FAULT_DISK_SYNC_ERROR,
    FAULT_DISK_LOCK_ERROR,
    /// Half the bytes are written, then an error.
    FAULT_DISK_SHORT_WRITE,
    /// Half the bytes are written, then no space is left.
    FAULT_DISK_SHORT_FULL,
    /// The power goes before the call: it and every later one fail without effect, until fault_disk_restart.
    FAULT_DISK_POWER_LOSS,
    FAULT_DISK_FAULTS
};

typedef struct fault_disk fault_disk;

/// Registers a VFS under the name, for the files of the directory; others go through it uncounted. NULL: no memory.
fault_disk *fault_disk_make(const char *name, const char *directory);

/// Ends the VFS, at once or when the last of its files is closed.
void fault_disk_free(fault_disk *disk);

/// Lets the call-th of the calls that fit the fault fail, counted from now from 1; those after it too, if it lasts.
void fault_disk_fail(fault_disk *disk, enum fault_disk_fault fault, int64_t call, bool lasting);

/// Bounds the bytes of all files in the directory, whoever has written them: what would grow one beyond fails as on a full
/// disk. 0: no bound.
void fault_disk_bound(fault_disk *disk, int64_t bytes);

/// The calls so far that fit the fault.
int64_t fault_disk_calls(fault_disk *disk, enum fault_disk_fault fault);

/// The calls that have failed since fault_disk_fail.
int64_t fault_disk_failures(fault_disk *disk);

/// The most bytes that a log of the disk has had.
int64_t fault_disk_longest_log(fault_disk *disk);

/// Takes away what was written and not synced, and gives the power back.
///
/// With `keeping`, a part of it stays that the seed chooses: any of the 512-byte sectors of each write.
///
/// Returns false, having done nothing, while files are open.
bool fault_disk_restart(fault_disk *disk, bool keeping, uint64_t seed);

/// Whether every file is closed.
bool fault_disk_is_closed(fault_disk *disk);

#endif
