/* entries.c: the driver's entry points, which driver.c finds and all files call. */
#include "entries.h"

gb_cu_driver gb_cu;
