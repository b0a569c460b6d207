#include <stddef.h>
#include <stdint.h>

/// libFuzzer's own main function, as a library: https://llvm.org/docs/LibFuzzer.html
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *bytes, size_t count));

/// Changes bytes in place, and returns their new number.
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t capacity);
