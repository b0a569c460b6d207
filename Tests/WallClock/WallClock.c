#define _GNU_SOURCE
#include "WallClock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

long wall_clock_ahead(void) {
    static atomic_long seconds = -1;
    if (seconds < 0) {
        const char *text = getenv("DIAMOND_CLOCK_AHEAD");
        seconds = text ? labs(atol(text)) : 0;
    }
    return seconds;
}

#ifdef __linux__
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*_Atomic next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += wall_clock_ahead();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    static int (*_Atomic next)(struct timeval *, void *);
    if (!next) next = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
    int result = next(time, zone);
    if (result == 0) time->tv_sec += wall_clock_ahead();
    return result;
}
#endif
