#include "FaultDisk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// What a call of each kind returns when it is hit; 0 where the fault does not fit it.
static const int outcomes[FAULT_DISK_FAULTS][FAULT_DISK_OPERATIONS] = {
    [FAULT_DISK_FULL] = {
        [FAULT_DISK_MAKE] = SQLITE_CANTOPEN,
        [FAULT_DISK_WRITE] = SQLITE_FULL,
        [FAULT_DISK_MAP] = SQLITE_IOERR_SHMSIZE,
    },
    [FAULT_DISK_READ_ERROR] = {
        [FAULT_DISK_OPEN] = SQLITE_CANTOPEN,
        [FAULT_DISK_READ] = SQLITE_IOERR_READ,
        [FAULT_DISK_SIZE] = SQLITE_IOERR_FSTAT,
        [FAULT_DISK_ACCESS] = SQLITE_IOERR_ACCESS,
        [FAULT_DISK_MAP] = SQLITE_IOERR_SHMMAP,
    },
    [FAULT_DISK_WRITE_ERROR] = {
        [FAULT_DISK_MAKE] = SQLITE_CANTOPEN,
        [FAULT_DISK_WRITE] = SQLITE_IOERR_WRITE,
        [FAULT_DISK_TRUNCATE] = SQLITE_IOERR_TRUNCATE,
        [FAULT_DISK_DELETE] = SQLITE_IOERR_DELETE,
    },
    [FAULT_DISK_SYNC_ERROR] = {[FAULT_DISK_SYNC] = SQLITE_IOERR_FSYNC},
    [FAULT_DISK_LOCK_ERROR] = {[FAULT_DISK_LOCK] = SQLITE_IOERR_LOCK, [FAULT_DISK_MAP_LOCK] = SQLITE_IOERR_SHMLOCK},
    [FAULT_DISK_SHORT_WRITE] = {[FAULT_DISK_WRITE] = SQLITE_IOERR_WRITE},
    [FAULT_DISK_SHORT_FULL] = {[FAULT_DISK_WRITE] = SQLITE_FULL},
    // The others change nothing that would be left.
    [FAULT_DISK_POWER_LOSS] = {
        [FAULT_DISK_MAKE] = SQLITE_CANTOPEN,
        [FAULT_DISK_WRITE] = SQLITE_IOERR_WRITE,
        [FAULT_DISK_TRUNCATE] = SQLITE_IOERR_TRUNCATE,
        [FAULT_DISK_SYNC] = SQLITE_IOERR_FSYNC,
        [FAULT_DISK_DELETE] = SQLITE_IOERR_DELETE,
    },
};

/// One write that is not synced yet, or, with a length below zero, a cut to `offset` bytes.
struct change {
    struct change *next;
    int64_t offset;
    int64_t length;
    unsigned char bytes[];
};

/// A file by its path, whatever handles it has.
struct node {
    struct node *next;
    /// What a loss of power leaves.
    unsigned char *synced;
    int64_t size;
    int64_t capacity;
    bool is_there;
    /// The first sync of a new log or journal syncs its directory too.
    bool syncs_directory;
    /// Deleted, but the directory is not synced.
    bool is_deleted;
    struct change *first;
    struct change *last;
    char path[];
};

struct fault_disk {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    pthread_mutex_t lock;
    // Guarded by the lock:
    int open_files;
    int64_t calls[FAULT_DISK_OPERATIONS];
    enum fault_disk_fault fault;
    int64_t call;
    bool lasting;
    int64_t seen;
    int64_t failures;
    int64_t longest_log;
    int64_t bound;
    bool is_dark;
    // Nobody has it any more: it goes with the last of its files.
    bool is_abandoned;
    struct node *nodes;
    char *directory;
    char name[];
};

struct file {
    sqlite3_file base;
    fault_disk *disk;
    /// NULL for a file that is not the disk's.
    struct node *node;
    sqlite3_file *real;
};

static void *need(void *memory) {
    if (!memory) abort();
    return memory;
}

// MARK: Which call fails. All with the lock held.

static bool fits(enum fault_disk_fault fault, enum fault_disk_operation operation) {
    return fault == FAULT_DISK_NONE || outcomes[fault][operation];
}

/// Counts a call; what it has to return, 0 where it may go on.
static int count(fault_disk *disk, enum fault_disk_operation operation) {
    disk->calls[operation]++;
    int darkness = outcomes[FAULT_DISK_POWER_LOSS][operation];
    if (disk->is_dark) return darkness ? darkness : SQLITE_IOERR;
    if (disk->fault == FAULT_DISK_NONE || !fits(disk->fault, operation)) return 0;
    disk->seen++;
    if (disk->seen < disk->call || (disk->seen > disk->call && !disk->lasting)) return 0;
    disk->failures++;
    if (disk->fault == FAULT_DISK_POWER_LOSS) disk->is_dark = true;
    return outcomes[disk->fault][operation];
}

static int count_alone(fault_disk *disk, enum fault_disk_operation operation) {
    pthread_mutex_lock(&disk->lock);
    int code = count(disk, operation);
    pthread_mutex_unlock(&disk->lock);
    return code;
}

/// Bytes of all files in the directory.
static int64_t used(fault_disk *disk) {
    int64_t sum = 0;
    DIR *directory = opendir(disk->directory);
    if (!directory) return 0;
    for (struct dirent *each; (each = readdir(directory));) {
        struct stat found;
        if (!fstatat(dirfd(directory), each->d_name, &found, 0) && S_ISREG(found.st_mode)) sum += found.st_size;
    }
    closedir(directory);
    return sum;
}

/// Whether a file of this path has no room to be so long.
static bool is_beyond(fault_disk *disk, const char *path, int64_t end) {
    struct stat found;
    int64_t size = stat(path, &found) ? 0 : found.st_size;
    if (!disk->bound || end <= size || used(disk) + end - size <= disk->bound) return false;
    disk->failures++;
    return true;
}

// MARK: What is synced. All with the lock held.

static bool is_ours(fault_disk *disk, const char *path) {
    size_t length = strlen(disk->directory);
    return path && strncmp(path, disk->directory, length) == 0 && (path[length] == '/' || !length);
}

static struct node *find(fault_disk *disk, const char *path) {
    for (struct node *each = disk->nodes; each; each = each->next)
        if (strcmp(each->path, path) == 0) return each;
    return NULL;
}

static struct node *find_or_make(fault_disk *disk, const char *path) {
    struct node *found = find(disk, path);
    if (found) return found;
    struct node *made = need(calloc(1, sizeof(struct node) + strlen(path) + 1));
    strcpy(made->path, path);
    made->next = disk->nodes;
    return disk->nodes = made;
}

static void forget_changes(struct node *node) {
    while (node->first) {
        struct change *next = node->first->next;
        free(node->first);
        node->first = next;
    }
    node->last = NULL;
}

static void forget_nodes(fault_disk *disk) {
    while (disk->nodes) {
        struct node *next = disk->nodes->next;
        forget_changes(disk->nodes);
        free(disk->nodes->synced);
        free(disk->nodes);
        disk->nodes = next;
    }
}

static void forget_disk(fault_disk *disk) {
    forget_nodes(disk);
    pthread_mutex_destroy(&disk->lock);
    free(disk->directory);
    free(disk);
}

/// Nothing of it would be left.
static void forget(struct node *node) {
    forget_changes(node);
    node->size = 0;
    node->is_there = node->is_deleted = false;
}

static void resize(struct node *node, int64_t size) {
    if (size > node->capacity) {
        node->capacity = size * 2;
        node->synced = need(realloc(node->synced, (size_t)node->capacity));
    }
    if (size > node->size) memset(node->synced + node->size, 0, (size_t)(size - node->size));
    node->size = size;
}

static void put(struct node *node, int64_t offset, const unsigned char *bytes, int64_t length) {
    if (offset + length > node->size) resize(node, offset + length);
    memcpy(node->synced + offset, bytes, (size_t)length);
}

static void remember(struct node *node, int64_t offset, const void *bytes, int64_t length) {
    struct change *made = need(malloc(sizeof(struct change) + (size_t)(length > 0 ? length : 0)));
    made->next = NULL;
    made->offset = offset;
    made->length = length;
    if (length > 0) memcpy(made->bytes, bytes, (size_t)length);
    if (node->last) node->last->next = made; else node->first = made;
    node->last = made;
}

static void sync_directory(fault_disk *disk) {
    for (struct node *each = disk->nodes; each; each = each->next)
        if (each->is_deleted) forget(each);
}

static void sync_node(fault_disk *disk, struct node *node) {
    for (struct change *each = node->first; each; each = each->next)
        if (each->length < 0) resize(node, each->offset); else put(node, each->offset, each->bytes, each->length);
    forget_changes(node);
    node->is_there = true;
    if (node->syncs_directory) sync_directory(disk);
    node->syncs_directory = false;
}

/// What was in the file before this disk saw it counts as synced.
static int adopt(struct node *node, sqlite3_file *file) {
    sqlite3_int64 size = 0;
    int code = file->pMethods->xFileSize(file, &size);
    if (code) return code;
    resize(node, size);
    node->is_there = true;
    return size ? file->pMethods->xRead(file, node->synced, (int)size, 0) : SQLITE_OK;
}

// MARK: What a loss of power leaves

/// Steele and others, 2014.
static uint64_t random_bits(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
}

/// Lets some of the sectors of a write, or all of a cut, reach the disk.
static void keep_some(struct node *node, const struct change *change, uint64_t *state) {
    if (change->length < 0) {
        if (random_bits(state) & 1) resize(node, change->offset);
        return;
    }
    for (int64_t done = 0; done < change->length;) {
        int64_t end = ((change->offset + done) / 512 + 1) * 512 - change->offset;
        if (end > change->length) end = change->length;
        if (random_bits(state) & 1) put(node, change->offset + done, change->bytes + done, end - done);
        done = end;
    }
}

static void write_back(const struct node *node) {
    if (!node->is_there) {
        unlink(node->path);
        return;
    }
    int descriptor = open(node->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    // The directory is gone: the test has ended.
    if (descriptor < 0) return;
    for (int64_t done = 0; done < node->size;) {
        ssize_t written = write(descriptor, node->synced + done, (size_t)(node->size - done));
        if (written < 0 && errno != EINTR) abort();
        if (written > 0) done += written;
    }
    close(descriptor);
}

static void lose(struct node *node, bool keeping, uint64_t *state) {
    bool deletion_is_kept = node->is_deleted && keeping && (random_bits(state) & 1);
    if (deletion_is_kept) forget(node);
    for (struct change *each = node->first; each && keeping; each = each->next) keep_some(node, each, state);
    // A name whose file was never synced may be there or not; an empty file says the same.
    if (node->first && keeping) node->is_there = true;
    write_back(node);
}

// MARK: A file's methods

static struct file *of(sqlite3_file *file) { return (struct file *)file; }

static int file_close(sqlite3_file *base) {
    struct file *file = of(base);
    fault_disk *disk = file->disk;
    int code = file->real->pMethods->xClose(file->real);
    pthread_mutex_lock(&disk->lock);
    bool is_last = --disk->open_files == 0 && disk->is_abandoned;
    pthread_mutex_unlock(&disk->lock);
    if (is_last) forget_disk(disk);
    return code;
}

static int file_read(sqlite3_file *base, void *bytes, int length, sqlite3_int64 offset) {
    struct file *file = of(base);
    int code = file->node ? count_alone(file->disk, FAULT_DISK_READ) : 0;
    return code ? code : file->real->pMethods->xRead(file->real, bytes, length, offset);
}

static bool is_log(const struct node *node) {
    size_t length = strlen(node->path);
    return length > 4 && strcmp(node->path + length - 4, "-wal") == 0;
}

/// Writes and remembers; the lock is held.
static int write_through(struct file *file, const void *bytes, int length, sqlite3_int64 offset) {
    int code = length ? file->real->pMethods->xWrite(file->real, bytes, length, offset) : SQLITE_OK;
    if (!code && length) remember(file->node, offset, bytes, length);
    if (!code && is_log(file->node) && offset + length > file->disk->longest_log)
        file->disk->longest_log = offset + length;
    return code;
}

static int file_write(sqlite3_file *base, const void *bytes, int length, sqlite3_int64 offset) {
    struct file *file = of(base);
    fault_disk *disk = file->disk;
    if (!file->node) return file->real->pMethods->xWrite(file->real, bytes, length, offset);
    pthread_mutex_lock(&disk->lock);
    int code = count(disk, FAULT_DISK_WRITE);
    if (!code && is_beyond(disk, file->node->path, offset + length)) code = SQLITE_FULL;
    bool is_short = disk->fault == FAULT_DISK_SHORT_WRITE || disk->fault == FAULT_DISK_SHORT_FULL;
    if (code && is_short) write_through(file, bytes, length / 2, offset);
    if (!code) code = write_through(file, bytes, length, offset);
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct file *file = of(base);
    if (!file->node) return file->real->pMethods->xTruncate(file->real, size);
    pthread_mutex_lock(&file->disk->lock);
    int code = count(file->disk, FAULT_DISK_TRUNCATE);
    if (!code) code = file->real->pMethods->xTruncate(file->real, size);
    if (!code) remember(file->node, size, NULL, -1);
    pthread_mutex_unlock(&file->disk->lock);
    return code;
}

static int file_sync(sqlite3_file *base, int flags) {
    struct file *file = of(base);
    if (!file->node) return file->real->pMethods->xSync(file->real, flags);
    pthread_mutex_lock(&file->disk->lock);
    int code = count(file->disk, FAULT_DISK_SYNC);
    if (!code) sync_node(file->disk, file->node);
    pthread_mutex_unlock(&file->disk->lock);
    return code;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
    struct file *file = of(base);
    int code = file->node ? count_alone(file->disk, FAULT_DISK_SIZE) : 0;
    return code ? code : file->real->pMethods->xFileSize(file->real, size);
}

static int file_lock(sqlite3_file *base, int level) {
    struct file *file = of(base);
    int code = file->node ? count_alone(file->disk, FAULT_DISK_LOCK) : 0;
    return code ? code : file->real->pMethods->xLock(file->real, level);
}

// Giving a lock back never fails.
static int file_unlock(sqlite3_file *base, int level) {
    return of(base)->real->pMethods->xUnlock(of(base)->real, level);
}

static int file_check_reserved(sqlite3_file *base, int *is_reserved) {
    return of(base)->real->pMethods->xCheckReservedLock(of(base)->real, is_reserved);
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
    return of(base)->real->pMethods->xFileControl(of(base)->real, operation, argument);
}

static int file_sector_size(sqlite3_file *base) { return of(base)->real->pMethods->xSectorSize(of(base)->real); }

static int file_characteristics(sqlite3_file *base) {
    return of(base)->real->pMethods->xDeviceCharacteristics(of(base)->real);
}

/// Whether the shared memory, a file beside the node's, has no room to be so long.
static bool is_map_beyond(struct file *file, int64_t end) {
    char *path = need(malloc(strlen(file->node->path) + sizeof("-shm")));
    strcat(strcpy(path, file->node->path), "-shm");
    pthread_mutex_lock(&file->disk->lock);
    bool is_beyond_bound = is_beyond(file->disk, path, end);
    pthread_mutex_unlock(&file->disk->lock);
    free(path);
    return is_beyond_bound;
}

static int file_map(sqlite3_file *base, int region, int size, int may_grow, void volatile **memory) {
    struct file *file = of(base);
    int code = file->node ? count_alone(file->disk, FAULT_DISK_MAP) : 0;
    if (!code && file->node && may_grow && is_map_beyond(file, (int64_t)(region + 1) * size)) code = SQLITE_IOERR_SHMSIZE;
    return code ? code : file->real->pMethods->xShmMap(file->real, region, size, may_grow, memory);
}

static int file_map_lock(sqlite3_file *base, int offset, int n, int flags) {
    struct file *file = of(base);
    int code = file->node && (flags & SQLITE_SHM_LOCK) ? count_alone(file->disk, FAULT_DISK_MAP_LOCK) : 0;
    return code ? code : file->real->pMethods->xShmLock(file->real, offset, n, flags);
}

static void file_map_barrier(sqlite3_file *base) { of(base)->real->pMethods->xShmBarrier(of(base)->real); }

static int file_unmap(sqlite3_file *base, int deletes) {
    return of(base)->real->pMethods->xShmUnmap(of(base)->real, deletes);
}

// Version 2: no memory-mapped reads, which nothing could count.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_map,
    .xShmLock = file_map_lock,
    .xShmBarrier = file_map_barrier,
    .xShmUnmap = file_unmap,
};

// MARK: The disk's methods

/// Opens a file of the disk; the lock is held.
static int open_ours(fault_disk *disk, struct file *file, const char *path, int flags, int *opened) {
    bool is_new = (flags & SQLITE_OPEN_CREATE) && access(path, F_OK) != 0;
    int code = count(disk, is_new ? FAULT_DISK_MAKE : FAULT_DISK_OPEN);
    if (!code) code = disk->real->xOpen(disk->real, path, file->real, flags, opened);
    if (code) return code;
    bool is_known = find(disk, path) != NULL;
    file->node = find_or_make(disk, path);
    if (is_new) forget(file->node);
    if (is_new) file->node->syncs_directory = flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL);
    return is_new || is_known ? SQLITE_OK : adopt(file->node, file->real);
}

static int disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *opened) {
    fault_disk *disk = vfs->pAppData;
    struct file *file = of(base);
    memset(file, 0, (size_t)vfs->szOsFile);
    file->disk = disk;
    file->real = (sqlite3_file *)(file + 1);
    pthread_mutex_lock(&disk->lock);
    int code = is_ours(disk, path) ? open_ours(disk, file, path, flags, opened)
                                   : disk->real->xOpen(disk->real, path, file->real, flags, opened);
    if (!code) disk->open_files++;
    pthread_mutex_unlock(&disk->lock);
    if (!code) base->pMethods = &methods;
    else if (file->real->pMethods) file->real->pMethods->xClose(file->real);
    return code;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int syncs_directory) {
    fault_disk *disk = vfs->pAppData;
    if (!is_ours(disk, path)) return disk->real->xDelete(disk->real, path, syncs_directory);
    pthread_mutex_lock(&disk->lock);
    int code = count(disk, FAULT_DISK_DELETE);
    if (!code) code = disk->real->xDelete(disk->real, path, 0);
    struct node *node = code ? NULL : find(disk, path);
    if (node) {
        forget_changes(node);
        node->is_deleted = true;
        if (syncs_directory) sync_directory(disk);
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    fault_disk *disk = vfs->pAppData;
    int code = is_ours(disk, path) ? count_alone(disk, FAULT_DISK_ACCESS) : 0;
    return code ? code : disk->real->xAccess(disk->real, path, flags, result);
}

static int disk_full_path(sqlite3_vfs *vfs, const char *path, int length, char *result) {
    fault_disk *disk = vfs->pAppData;
    return disk->real->xFullPathname(disk->real, path, length, result);
}

static int disk_randomness(sqlite3_vfs *vfs, int length, char *result) {
    fault_disk *disk = vfs->pAppData;
    return disk->real->xRandomness(disk->real, length, result);
}

static int disk_sleep(sqlite3_vfs *vfs, int microseconds) {
    fault_disk *disk = vfs->pAppData;
    return disk->real->xSleep(disk->real, microseconds);
}

static int disk_time(sqlite3_vfs *vfs, double *result) {
    fault_disk *disk = vfs->pAppData;
    return disk->real->xCurrentTime(disk->real, result);
}

static int disk_time_64(sqlite3_vfs *vfs, sqlite3_int64 *result) {
    fault_disk *disk = vfs->pAppData;
    return disk->real->xCurrentTimeInt64(disk->real, result);
}

static int disk_last_error(sqlite3_vfs *vfs, int length, char *result) {
    fault_disk *disk = vfs->pAppData;
    return disk->real->xGetLastError(disk->real, length, result);
}

// MARK: What tests call

fault_disk *fault_disk_make(const char *name, const char *directory) {
    if (sqlite3_initialize()) return NULL;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    fault_disk *disk = need(calloc(1, sizeof(fault_disk) + strlen(name) + 1));
    strcpy(disk->name, name);
    disk->real = real;
    // As SQLite itself writes the paths it opens: absolute, without symbolic links.
    disk->directory = need(calloc(1, (size_t)real->mxPathname + 1));
    real->xFullPathname(real, directory, real->mxPathname, disk->directory);
    pthread_mutex_init(&disk->lock, NULL);
    disk->vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(struct file) + real->szOsFile,
        .mxPathname = real->mxPathname,
        .zName = disk->name,
        .pAppData = disk,
        .xOpen = disk_open,
        .xDelete = disk_delete,
        .xAccess = disk_access,
        .xFullPathname = disk_full_path,
        .xRandomness = disk_randomness,
        .xSleep = disk_sleep,
        .xCurrentTime = disk_time,
        .xGetLastError = disk_last_error,
        .xCurrentTimeInt64 = disk_time_64,
    };
    sqlite3_vfs_register(&disk->vfs, 0);
    return disk;
}

bool fault_disk_is_closed(fault_disk *disk) {
    pthread_mutex_lock(&disk->lock);
    bool is_closed = disk->open_files == 0;
    pthread_mutex_unlock(&disk->lock);
    return is_closed;
}

void fault_disk_free(fault_disk *disk) {
    sqlite3_vfs_unregister(&disk->vfs);
    pthread_mutex_lock(&disk->lock);
    disk->is_abandoned = true;
    bool is_last = disk->open_files == 0;
    pthread_mutex_unlock(&disk->lock);
    if (is_last) forget_disk(disk);
}

void fault_disk_fail(fault_disk *disk, enum fault_disk_fault fault, int64_t call, bool lasting) {
    pthread_mutex_lock(&disk->lock);
    disk->fault = fault;
    disk->call = call;
    disk->lasting = lasting;
    disk->seen = disk->failures = 0;
    pthread_mutex_unlock(&disk->lock);
}

void fault_disk_bound(fault_disk *disk, int64_t bytes) {
    pthread_mutex_lock(&disk->lock);
    disk->bound = bytes;
    pthread_mutex_unlock(&disk->lock);
}

int64_t fault_disk_calls(fault_disk *disk, enum fault_disk_fault fault) {
    int64_t sum = 0;
    pthread_mutex_lock(&disk->lock);
    for (int each = 0; each < FAULT_DISK_OPERATIONS; each++)
        if (fits(fault, each)) sum += disk->calls[each];
    pthread_mutex_unlock(&disk->lock);
    return sum;
}

int64_t fault_disk_failures(fault_disk *disk) {
    pthread_mutex_lock(&disk->lock);
    int64_t failures = disk->failures;
    pthread_mutex_unlock(&disk->lock);
    return failures;
}

int64_t fault_disk_longest_log(fault_disk *disk) {
    pthread_mutex_lock(&disk->lock);
    int64_t longest_log = disk->longest_log;
    pthread_mutex_unlock(&disk->lock);
    return longest_log;
}

bool fault_disk_restart(fault_disk *disk, bool keeping, uint64_t seed) {
    // Closing a descriptor of an open database would drop the locks of the whole process.
    if (!fault_disk_is_closed(disk)) return false;
    pthread_mutex_lock(&disk->lock);
    for (struct node *each = disk->nodes; each; each = each->next) lose(each, keeping, &seed);
    // Whoever opens them next may find them changed by others.
    forget_nodes(disk);
    disk->is_dark = false;
    disk->fault = FAULT_DISK_NONE;
    pthread_mutex_unlock(&disk->lock);
    return true;
}
