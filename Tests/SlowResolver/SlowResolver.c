#define _GNU_SOURCE
#include "SlowResolver.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct look_up {
    struct look_up *next;
    bool has_begun;
    bool is_released;
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct look_up *look_ups;

/// The record of a name, made when it is first mentioned and kept for good. Called with the lock held.
static struct look_up *record(const char *name) {
    for (struct look_up *each = look_ups; each; each = each->next)
        if (strcmp(each->name, name) == 0) return each;
    struct look_up *made = calloc(1, sizeof(struct look_up) + strlen(name) + 1);
    if (!made) abort();
    strcpy(made->name, name);
    made->next = look_ups;
    return look_ups = made;
}

void slow_resolver_await(const char *name) {
    pthread_mutex_lock(&lock);
    while (!record(name)->has_begun) pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

void slow_resolver_release(const char *name) {
    pthread_mutex_lock(&lock);
    record(name)->is_released = true;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static void await_release(const char *name) {
    pthread_mutex_lock(&lock);
    record(name)->has_begun = true;
    pthread_cond_broadcast(&change);
    while (!record(name)->is_released) pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

static bool is_slow(const char *name) {
    static const char suffix[] = ".slow.test";
    size_t length = name ? strlen(name) : 0;
    return length >= sizeof(suffix) - 1 && strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}

#ifdef __linux__
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (is_slow(name)) {
        await_release(name);
        return EAI_NONAME;
    }
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    return next ? next(name, service, hints, result) : EAI_SYSTEM;
}
#endif
