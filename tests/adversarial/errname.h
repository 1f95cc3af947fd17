/* The name of an errno as the probes print it: "0" for success. */
#ifndef ADVERSARIAL_ERRNAME_H
#define ADVERSARIAL_ERRNAME_H

#include <errno.h>
#include <string.h>

static inline const char *
errname(long result)
{
	if (result >= 0)
		return "0";
	const char *name = strerrorname_np(errno);
	return name != NULL ? name : "E?";
}

#endif
