/* loom profile schema: made from the table that the reader uses, so editors and Loom agree. */
#include "cli/option.h"
#include "cli/say.h"
#include "cli/show.h"
#include "policy/policy.h"

int
cmd_profile_schema(const struct parsed *args)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};

	buf_init(&out, SHOW_MAX);
	if (policy_schema(&out, &err) < 0)
		return say_failed("internal", &err);
	buf_char(&out, '\n');
	return print_buf(&out);
}
