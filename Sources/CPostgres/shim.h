#ifndef CDIAMOND_POSTGRES_SHIM_H
#define CDIAMOND_POSTGRES_SHIM_H

// Debian has the headers in a directory of their own, which only pkg-config adds to the search path.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

#include <poll.h>

// Macros that Swift does not see, because they cast.
static const int diamond_pg_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int diamond_pg_diag_constraint = PG_DIAG_CONSTRAINT_NAME;

#endif
