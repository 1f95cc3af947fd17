/*
 * A file system that is mounted beneath a place belongs to it, and so does a part of it that is
 * bound elsewhere, though neither has anything of the place above it. But a mount beneath a place
 * may also be a mere view of what people have elsewhere (a snapshot tool's, a container's volume):
 * that does not make the original a place.
 */
#include "box/places_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "box/mount_table.h"

/* Does W lie in a place nothing of which is anybody's? */
static bool
in_place(const struct places *p, size_t n, const struct where *w)
{
	const struct place *in = NULL;

	/* The innermost counts: /usr/src is in /usr. */
	for (size_t i = 0; i < n; i++) {
		const struct place *at = &p->places[i];

		if ((at->rules & (PLACE_BENEATH | PLACE_FINE)) == 0 ||
		    !where_beneath(w, &at->where))
			continue;
		if (in == NULL || strlen(at->where.inside) > strlen(in->where.inside))
			in = at;
	}
	return in != NULL && (in->rules & PLACE_BENEATH) != 0;
}

/* Where the directory is that M covers, as far as names tell: on the mount around it. */
static int
covered_by(const struct mount_line *m, const struct mount_line *lines, size_t n, struct where *ret)
{
	const struct mount_line *around = NULL;
	const char *rest;
	char *inside = NULL;

	for (size_t i = 0; i < n; i++)
		if (strcmp(lines[i].point, m->point) != 0 &&
		    path_is_beneath(m->point, lines[i].point) &&
		    (around == NULL || strlen(lines[i].point) >= strlen(around->point)))
			around = &lines[i];
	if (around == NULL)
		return 0;
	rest = around->point[1] == '\0' ? m->point : m->point + strlen(around->point);
	if (asprintf(&inside, "%s%s", around->root[1] == '\0' ? "" : around->root, rest) < 0)
		return -ENOMEM;
	(void)snprintf(ret->dev, sizeof(ret->dev), "%s", around->dev);
	ret->inside = inside;
	return 0;
}

static struct where
shown_by(const struct mount_line *m)
{
	struct where w = {.inside = (char *)(uintptr_t)m->root};

	(void)snprintf(w.dev, sizeof(w.dev), "%s", m->dev);
	return w;
}

/*
 * Does M show what people have elsewhere: a home, the root, or a part of what a wider mount that is
 * in no place (HIDDEN) shows? Then it is a view of that, and not a place.
 */
static bool
is_view(const struct places *p, size_t n_places, size_t m, const struct mount_line *lines,
	const bool *hidden, size_t n)
{
	const struct where shown = shown_by(&lines[m]);

	for (size_t i = 0; i < n_places; i++)
		if ((p->places[i].rules & (PLACE_BENEATH | PLACE_FINE)) == 0 &&
		    where_beneath(&p->places[i].where, &shown))
			return true;
	for (size_t i = 0; i < n; i++) {
		const struct where other = shown_by(&lines[i]);

		if (!hidden[i] && where_beneath(&shown, &other) && !where_same(&shown, &other))
			return true;
	}
	return false;
}

int
places_add_mounts(struct places *p, struct error *err)
{
	const struct mount_line *lines;
	const size_t n_places = p->n;
	bool *hidden;
	size_t n;
	int r = mount_table_lines(&lines, &n, NULL, err);

	if (r < 0)
		return r;
	hidden = calloc(n + 1, sizeof(*hidden));
	if (hidden == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < n; i++) {
		CLEANUP(where_fini) struct where at = {0};

		r = covered_by(&lines[i], lines, n, &at);
		hidden[i] = r == 0 && in_place(p, n_places, &at);
	}
	/* What is mounted on a place, or beneath one that is hidden. */
	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t k = 0; k < n && !hidden[i]; k++)
			hidden[i] = hidden[k] && path_is_beneath(lines[i].point, lines[k].point);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct object nothing = {0};
		struct where shown = shown_by(&lines[i]);

		if (!hidden[i] || is_view(p, n_places, i, lines, hidden, n))
			continue;
		shown.inside = strdup(shown.inside);
		r = shown.inside == NULL ? -ENOMEM
					 : place_append(p, &nothing, &shown, lines[i].point,
							PLACE_ITSELF | PLACE_BENEATH, err);
		where_fini(&shown);
	}
	free(hidden);
	return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
}
