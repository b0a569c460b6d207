#include "peers.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static __thread long count;

long allocations(void) { return count; }

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>

void give_back(void) { malloc_trim(0); }

long allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}

// The program's own malloc, which replaces the library's, counts and calls it.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    return __libc_calloc(number, size);
}

void *realloc(void *pointer, size_t size) {
    count++;
    return __libc_realloc(pointer, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    count++;
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) { return ENOMEM; }
    *pointer = memory;
    return 0;
}
#else
void give_back(void) {}
long allocated_bytes(void) { return 0; }
#endif
