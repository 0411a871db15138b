// What the exercises of the native library check with.
#pragma once

#include <cstdio>
#include <cstdlib>

// Ends the program with the line of a condition that is false.
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (false)
