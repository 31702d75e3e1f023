/* matrices_body.h: the loops over matrices and tridiagonal systems for one type and one instruction
 * set. */
#include "lanes.h"
#include "matrix_body.h"
#define REFUSE(name) large_##name
#include "large_body.h"
PER_SIZE(inv)
PER_SIZE(det)
PER_SIZE(solve)
PER_SIZE(cholesky)
#include "tridiagonal_body.h"
