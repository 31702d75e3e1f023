/* f32.h: what makes loops those of float32. */
#define REAL float
#define WORD int32_t
#define SQRT __builtin_sqrtf
#define FABS __builtin_fabsf
#define NAMED(name, set) gb_gu_k_##name##_f32_##set
