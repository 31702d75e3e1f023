/* f64.h: what makes loops those of float64. */
#define REAL double
#define WORD int64_t
#define SQRT __builtin_sqrt
#define FABS __builtin_fabs
#define NAMED(name, set) gb_gu_k_##name##_f64_##set
