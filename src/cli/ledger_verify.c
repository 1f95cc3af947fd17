/*
 * loom ledger verify: reads the files, asks no daemon, changes nothing. Statuses: 0 everything
 * holds, 1 something does not, 2 the ledger cannot be read or is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/option.h"
#include "cli/place.h"
#include "cli/say.h"
#include "cli/show.h"
#include "ledger/verify.h"

#define PROGRESS_EVERY_MS 200
#define SERVICE_LEDGER "/var/lib/loom/ledger"

struct progress {
	uint64_t next_ms;
	bool shown;
};

/* On standard error, so that what is on standard output can be kept. */
static void
show_progress(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	struct progress *p = ctx;
	uint64_t now = clock_boot_ms();

	if (now < p->next_ms || all_bytes == 0)
		return;
	p->next_ms = now + PROGRESS_EVERY_MS;
	p->shown = true;
	fprintf(stderr, "\rverifying: %3.0f %%", 100.0 * (double)done_bytes / (double)all_bytes);
}

static int
open_ledger(const char *given, char path[PATH_MAX], struct error *err)
{
	struct place place;
	struct stat st;
	int n, fd;

	if (given != NULL) {
		n = snprintf(path, PATH_MAX, "%s", given);
	} else if (lstat(SERVICE_DIR "/" CLIENT_SOCKET, &st) == 0) {
		n = snprintf(path, PATH_MAX, "%s", SERVICE_LEDGER);
	} else {
		int r = place_here(&place, err);

		if (r < 0)
			return r;
		n = snprintf(path, PATH_MAX, "%s/ledger", place.state);
	}
	if (n < 0 || n >= PATH_MAX)
		return error_set(err, -ENAMETOOLONG, "the ledger's path is too long");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_sys(err, -errno, "open");
}

/* Where it is wrong, as far as that is known. */
static json_t *
place_json(const struct ledger_report *r)
{
	json_t *at = json_object();

	if (r->bad_index != LEDGER_NOWHERE)
		json_object_set_new(at, "index", json_integer((json_int_t)r->bad_index));
	if (r->bad_segment != LEDGER_NOWHERE) {
		json_object_set_new(at, "segment", json_integer((json_int_t)r->bad_segment));
		json_object_set_new(at, "offset", json_integer((json_int_t)r->bad_offset));
	}
	return at;
}

static json_t *
report_json(const struct ledger_report *r)
{
	const struct {
		const char *key;
		uint64_t value;
	} counts[] = {
		{"entries", r->entries},     {"intents", r->intents},
		{"outcomes", r->outcomes},   {"events", r->events},
		{"recovered", r->recovered}, {"open", r->open},
		{"blobs", r->blobs},	     {"blobsErased", r->blobs_erased},
		{"bytes", r->bytes},
	};
	char root[2 * SHA256_LEN + 1];
	json_t *doc = json_pack("{s:s, s:s}", "status", r->verified ? "verified" : "unverified",
				"witness", "off");

	hex_encode(r->checkpoint.root, sizeof(r->checkpoint.root), root);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		json_object_set_new(doc, counts[i].key, json_integer((json_int_t)counts[i].value));
	if (r->has_checkpoint)
		json_object_set_new(doc, "checkpoint",
				    json_pack("{s:I, s:s, s:s}", "size",
					      (json_int_t)r->checkpoint.size, "root", root,
					      "origin", r->vkey.name));
	if (!r->verified) {
		json_object_set_new(doc, "what", json_escaped(r->what, strlen(r->what)));
		json_object_set_new(doc, "at", place_json(r));
	}
	return doc;
}

static void
print_report(struct buf *out, const char *path, const struct ledger_report *r)
{
	char root[2 * SHA256_LEN + 1];

	show_add(out, SHOW_PLAIN, path);
	buf_str(out, ": ");
	show_add(out, r->verified ? SHOW_GREEN : SHOW_RED, r->verified ? "verified" : "unverified");
	buf_char(out, '\n');
	if (!r->verified) {
		buf_str(out, "wrong       ");
		show_add(out, SHOW_RED, r->what);
		if (r->bad_index != LEDGER_NOWHERE)
			buf_fmt(out, ", at entry %" PRIu64, r->bad_index);
		if (r->bad_segment != LEDGER_NOWHERE)
			buf_fmt(out, ", in journal/%020" PRIu64 " at byte %" PRIu64, r->bad_segment,
				r->bad_offset);
		buf_char(out, '\n');
	}
	buf_fmt(out,
		"entries     %" PRIu64 ": %" PRIu64 " intents, %" PRIu64 " outcomes, %" PRIu64
		" events\n",
		r->entries, r->intents, r->outcomes, r->events);
	if (r->open > 0)
		buf_fmt(out, "open        %" PRIu64 " intent%s without an outcome yet\n", r->open,
			r->open == 1 ? "" : "s");
	if (r->recovered > 0)
		buf_fmt(out, "recovered   %" PRIu64 " time%s after a crash\n", r->recovered,
			r->recovered == 1 ? "" : "s");
	if (r->blobs_erased > 0)
		buf_fmt(out, "erased      %" PRIu64 " of %" PRIu64 " texts\n", r->blobs_erased,
			r->blobs);
	if (r->has_checkpoint) {
		hex_encode(r->checkpoint.root, sizeof(r->checkpoint.root), root);
		buf_fmt(out, "checkpoint  %" PRIu64 " entries, root %s\n", r->checkpoint.size,
			root);
		if (r->entries > r->checkpoint.size)
			buf_fmt(out, "newer       %" PRIu64 " entries, to be signed next\n",
				r->entries - r->checkpoint.size);
		buf_str(out, "origin      ");
		show_add(out, SHOW_PLAIN, r->vkey.name);
		buf_char(out, '\n');
	}
	buf_str(out, "witness: off (nobody else signed: who holds the key could have written it "
		     "anew)\n");
}

int
cmd_ledger_verify(const struct parsed *args)
{
	CLEANUP(fd_closep) int dir = -1;
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	struct progress progress = {.next_ms = clock_boot_ms() + PROGRESS_EVERY_MS};
	const struct ledger_verify_options options = {
		.deep = true,
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.ctx = &progress,
	};
	struct ledger_report report = {0};
	struct error err = {0};
	char path[PATH_MAX] = "ledger";
	int r;

	buf_init(&out, SHOW_MAX);
	dir = open_ledger(args->n_operands > 0 ? args->operands[0] : NULL, path, &err);
	r = dir >= 0 ? ledger_verify(dir, &options, &report, &err) : dir;
	if (progress.shown)
		fprintf(stderr, "\r%20s\r", "");
	if (r < 0) {
		say("%s: %s", path, err.text);
		return STATUS_UNREADABLE;
	}
	if (option_given(args, OPT_JSON)) {
		doc = report_json(&report);
		r = show_json(doc);
	} else {
		print_report(&out, path, &report);
		r = print_buf(&out);
	}
	if (r != STATUS_OK)
		return STATUS_UNREADABLE;
	return report.verified ? STATUS_OK : STATUS_NOT;
}
