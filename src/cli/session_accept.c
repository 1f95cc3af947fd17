/* loom session accept */
#include <inttypes.h>

#include "cli/session_act.h"
#include "cli/show.h"

static void
tell(struct buf *out, const char *session, const json_t *answer)
{
	int64_t files = show_int(answer, "files", 0);
	int64_t stripped = show_int(answer, "stripped", 0);
	int64_t remaining = show_int(answer, "remaining", 0);

	buf_fmt(out, "%" PRId64 " change%s taken over", files, files == 1 ? "" : "s");
	if (show_text(answer, "operation")[0] != '\0') {
		buf_str(out, " (trace ");
		show_add(out, SHOW_PLAIN, show_text(answer, "operation"));
		buf_char(out, ')');
	}
	buf_char(out, '\n');
	if (stripped > 0)
		buf_fmt(out, "%" PRId64 " set-id bit%s left out\n", stripped,
			stripped == 1 ? " was" : "s were");
	if (remaining > 0) {
		buf_fmt(out, "%" PRId64 " change%s left: loom session diff ", remaining,
			remaining == 1 ? " is" : "s are");
		show_add(out, SHOW_PLAIN, session);
		buf_char(out, '\n');
	}
}

int
cmd_session_accept(const struct parsed *args)
{
	return session_act(args, V_ACCEPT, tell);
}
