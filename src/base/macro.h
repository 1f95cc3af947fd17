/* Attributes and small macros every folder uses. Nothing here has state. */
#ifndef LOOM_BASE_MACRO_H
#define LOOM_BASE_MACRO_H

#include <stddef.h>

/* Run FN on the address of the variable when it leaves scope: CLEANUP(fd_closep) int fd = -1; */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
/* The caller may not ignore the result. */
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Move a descriptor or pointer out of a CLEANUP variable: return TAKE_FD(fd); */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *take_from_ = &(fd);                                                           \
		int taken_ = *take_from_;                                                          \
		*take_from_ = -1;                                                                  \
		taken_;                                                                            \
	})
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *take_from_ = &(p);                                                  \
		__typeof__(p) taken_ = *take_from_;                                                \
		*take_from_ = NULL;                                                                \
		taken_;                                                                            \
	})

#endif
