#ifndef DIAMOND_WALL_CLOCK_H
#define DIAMOND_WALL_CLOCK_H

// Sets the wall clock of the whole process ahead by the seconds in DIAMOND_CLOCK_AHEAD, on Linux. Clocks that count
// from the machine's start are right.

/// The seconds by which the wall clock is ahead.
long wall_clock_ahead(void);

#endif
