/* loom session rm */
#include <inttypes.h>

#include "cli/session_act.h"
#include "cli/show.h"

static void
tell(struct buf *out, const char *session, const json_t *answer)
{
	int64_t n = show_int(answer, "discarded", 0);

	show_add(out, SHOW_PLAIN, session);
	buf_fmt(out, " is removed; %" PRId64 " change%s discarded\n", n, n == 1 ? "" : "s");
}

int
cmd_session_rm(const struct parsed *args)
{
	return session_act(args, V_RM, tell);
}
