/* loom session stop */
#include "cli/session_act.h"
#include "cli/show.h"

static void
tell(struct buf *out, const char *session, const json_t *answer)
{
	show_add(out, SHOW_PLAIN, session);
	buf_str(out, json_is_false(json_object_get(answer, "stopped"))
			     ? " was not running\n"
			     : " is stopped; its changes are kept\n");
}

int
cmd_session_stop(const struct parsed *args)
{
	return session_act(args, V_STOP, tell);
}
