#ifndef DIAMOND_SLOW_RESOLVER_H
#define DIAMOND_SLOW_RESOLVER_H

// Defines getaddrinfo for the whole process: the lookup of a name that ends in ".slow.test" lasts until it is
// released, and then fails; any other goes on to the system's.

/// Blocks until the name is being looked up.
void slow_resolver_await(const char *name);

/// Lets the lookups of the name end, those under way and those to come.
void slow_resolver_release(const char *name);

#endif
