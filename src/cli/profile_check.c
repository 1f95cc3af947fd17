/*
 * loom profile check: the reader, the checks and the profile's own tests, without a daemon.
 * Statuses: 0 good, 1 something is wrong with it, 2 it cannot be read.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/config_file.h"
#include "cli/option.h"
#include "cli/say.h"
#include "cli/show.h"
#include "policy/policy.h"

/* One byte more than a profile may have, so that what is too long is found by its reader. */
#define FILE_MAX_BYTES (1024 * 1024 + 1)

static int
tell(bool json, const char *file, const struct policy *policy, const struct error *err)
{
	const struct profile *profile = policy != NULL ? policy_profile(policy) : NULL;
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	char digest[65] = "";

	buf_init(&out, SHOW_MAX);
	if (profile != NULL)
		hex_encode(profile->digest, sizeof(profile->digest), digest);
	if (json) {
		doc = json_pack("{s:b, s:o?, s:s?, s:s?}", "valid", err->code == 0, "error",
				err->code != 0 ? json_escaped(err->text, strlen(err->text)) : NULL,
				"name", profile != NULL ? profile->name : NULL, "digest",
				profile != NULL ? digest : NULL);
		return show_json(doc);
	}
	if (err->code != 0) {
		say("%s", err->text);
		return STATUS_OK;
	}
	show_add(&out, SHOW_PLAIN, file);
	buf_str(&out, ": profile ");
	show_add(&out, SHOW_BOLD, profile->name);
	buf_fmt(&out, " is good, digest %s\n", digest);
	return print_buf(&out);
}

int
cmd_profile_check(const struct parsed *args)
{
	CLEANUP(policy_freep) struct policy *policy = NULL;
	CLEANUP(buf_fini) struct buf text = {0};
	struct policy_source source = {.file = args->operands[0]};
	struct error err = {0};
	int status = STATUS_OK, r;

	buf_init(&text, FILE_MAX_BYTES);
	r = config_file_read(source.file, &text, &err);
	if (r < 0)
		status = STATUS_UNREADABLE;
	if (r == 0) {
		source.data = text.data;
		source.len = text.len;
		r = policy_load(&source, &policy, &err);
	}
	/* The document first: where it lies matters only once it is right. */
	if (r == 0)
		r = config_file_check(source.file, &err);
	if (r < 0 && status == STATUS_OK)
		status = STATUS_NOT;
	r = tell(option_given(args, OPT_JSON), source.file, policy, &err);
	return r != STATUS_OK ? r : status;
}
