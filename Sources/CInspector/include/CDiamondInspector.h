#ifndef CDIAMONDINSPECTOR_H
#define CDIAMONDINSPECTOR_H

#include <stddef.h>

/// A file of the page of `cachectl serve`, in memory.
typedef struct {
    const char *name;
    const unsigned char *bytes;
    size_t size;
} InspectorAsset;

/// Returns the file with a number from 0; one without a name after the last.
InspectorAsset inspector_asset(size_t number);

#endif
