/*
 * Paths are sorted, so that asking about a change is a search for the path and for each directory
 * above it, however long the list is.
 */
#include "box/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "box/protect.h"

void
selection_fini(struct selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s->hit);
	*s = (struct selection){0};
}

static int
path_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
selection_add(struct selection *s, const char *bytes, size_t len, struct error *err)
{
	char normal[PATH_BYTES_MAX];
	char **paths;
	int r;

	r = path_relative(bytes, len, true, normal, err);
	if (r < 0) {
		char shown[CHANGE_SHOWN_MAX];

		change_show(bytes, shown);
		return error_prefix(err, "path '%s'", shown);
	}
	paths = realloc(s->paths, (s->n + 1) * sizeof(*paths));
	if (paths == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	s->paths = paths;
	paths[s->n] = strdup(normal);
	if (paths[s->n] == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	s->n++;
	return 0;
}

static int
selection_seal(struct selection *s, struct error *err)
{
	size_t kept = 0;

	if (s->n > 1)
		qsort(s->paths, s->n, sizeof(*s->paths), path_compare);
	for (size_t i = 0; i < s->n; i++) {
		if (kept > 0 && strcmp(s->paths[kept - 1], s->paths[i]) == 0)
			free(s->paths[i]);
		else
			s->paths[kept++] = s->paths[i];
	}
	s->n = kept;
	s->hit = calloc(s->n + 1, sizeof(*s->hit));
	if (s->hit == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

int
selection_read(const void *data, size_t len, struct selection *ret, struct error *err)
{
	CLEANUP(selection_fini) struct selection s = {0};
	const char *p = len > 0 ? data : "", *end = p + len;
	int r = 0;

	while (p < end && r == 0) {
		const char *nul = memchr(p, '\0', (size_t)(end - p));

		if (nul == NULL)
			return error_set(err, -EINVAL, "the last path does not end");
		r = selection_add(&s, p, (size_t)(nul - p), err);
		p = nul + 1;
	}
	if (r == 0)
		r = selection_seal(&s, err);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct selection){0};
	return 0;
}

static void
freep(char **p)
{
	free(*p);
}

int
selection_read_json(const json_t *paths, struct selection *ret, struct error *err)
{
	CLEANUP(selection_fini) struct selection s = {0};
	int r = 0;

	if (paths != NULL && !json_is_array(paths))
		return error_set(err, -EINVAL, "the selection is no list");
	for (size_t i = 0; r == 0 && i < json_array_size(paths); i++) {
		CLEANUP(freep) char *bytes = NULL;
		const char *text = json_string_value(json_array_get(paths, i));

		if (text == NULL)
			return error_set(err, -EINVAL,
					 "the selection has an entry that is no text");
		r = escaped_read(text, &bytes, err);
		if (r == 0)
			r = selection_add(&s, bytes, strlen(bytes), err);
	}
	if (r == 0)
		r = selection_seal(&s, err);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct selection){0};
	return 0;
}

/* The root is "." as a change and "" in a selection. */
static const char *
as_selected(const char *path)
{
	return strcmp(path, ".") == 0 ? "" : path;
}

/* Index of the path that is the first LEN bytes of PATH, or -1. */
static ssize_t
selection_find(const struct selection *s, const char *path, size_t len)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(s->paths[mid], path, len);

		if (order == 0 && s->paths[mid][len] == '\0')
			return (ssize_t)mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

/* The longest selected path that is PATH or above it, or -1. Marks all of them as hit. */
static ssize_t
selection_above(const struct selection *s, const char *path)
{
	ssize_t best = selection_find(s, "", 0), at;
	size_t len = strlen(path);

	if (best >= 0)
		s->hit[best] = true;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		at = selection_find(s, path, i);
		if (at >= 0) {
			s->hit[at] = true;
			best = at;
		}
	}
	return best;
}

/* Is something beneath PATH selected? */
static bool
selection_needs(const struct selection *s, const char *path)
{
	size_t low = 0, high = s->n, len = strlen(path);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(s->paths[mid], path, len);

		/* What follows PATH in the order and starts with it may have a byte below '/'. */
		if (order < 0 || (order == 0 && (unsigned char)s->paths[mid][len] < '/'))
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n && strncmp(s->paths[low], path, len) == 0 && s->paths[low][len] == '/';
}

bool
selection_covers(const struct selection *s, const char *path)
{
	return s->n == 0 || selection_above(s, as_selected(path)) >= 0;
}

bool
selection_names(const struct selection *s, const char *path)
{
	const char *p = as_selected(path);

	return selection_find(s, p, strlen(p)) >= 0;
}

static enum selected
selected_for(enum protection p)
{
	return p == PROTECT_NONE    ? SELECTED_YES
	       : p == PROTECT_NAMED ? SELECTED_PROTECTED
				    : SELECTED_NEVER;
}

enum selected
selection_judge(struct selection *s, const struct change *c, const char **ret_why)
{
	const char *path = as_selected(c->path);
	enum protection p = protect_path(path, ret_why);
	ssize_t above;

	if (s->n == 0)
		return selected_for(p);
	above = selection_above(s, path);
	if (above >= 0 && strcmp(s->paths[above], path) == 0)
		return p == PROTECT_NEVER ? SELECTED_NEVER : SELECTED_YES;
	if (above >= 0 && p == PROTECT_NONE)
		return SELECTED_YES;
	/* Named was something protected above it: leaving this one out in silence would surprise.
	 */
	if (above >= 0 && protect_path(s->paths[above], NULL) != PROTECT_NONE)
		return selected_for(p);
	if ((c->kind == CHANGE_ADDED || c->kind == CHANGE_TYPE) && c->type == TYPE_DIR &&
	    selection_needs(s, path))
		return SELECTED_IMPLIED;
	return SELECTED_NO;
}

const char *
selection_unmatched(const struct selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->hit[i] && s->paths[i][0] != '\0')
			return s->paths[i];
	return NULL;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
escaped_read(const char *text, char **ret, struct error *err)
{
	size_t len = strlen(text), n = 0;
	char *out = malloc(len + 1);

	if (out == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < len; i++) {
		int high, low;

		if (text[i] != '\\') {
			out[n++] = text[i];
			continue;
		}
		if (text[i + 1] == '\\') {
			out[n++] = '\\';
			i++;
			continue;
		}
		high = text[i + 1] == 'x' ? hex_digit(text[i + 2]) : -1;
		low = high >= 0 ? hex_digit(text[i + 3]) : -1;
		if (low < 0 || (high == 0 && low == 0)) {
			free(out);
			return error_set(err, -EINVAL, "not an escaped text");
		}
		out[n++] = (char)(high * 16 + low);
		i += 3;
	}
	out[n] = '\0';
	*ret = out;
	return 0;
}
