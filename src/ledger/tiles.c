/*
 * In memory is the right edge of the tree only (edge.h). All files that a leaf fills are written
 * before it counts, so that a full disk leaves the edge as it was; and they are written without a
 * sync, because the journal has what they are made from.
 */
#include "ledger/tiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define TILE_BYTES (TILE_WIDTH * SHA256_LEN)
#define DIRTY_MAX 4096

/* N in groups of three digits, all but the last with an x before them. */
static size_t
path_number(uint64_t n, char *out, size_t cap)
{
	unsigned int group[8], groups = 0;
	size_t used = 0;

	do {
		group[groups++] = (unsigned int)(n % 1000);
		n /= 1000;
	} while (n > 0);
	while (groups > 0) {
		groups--;
		used += (size_t)snprintf(out + used, cap - used, "%s%03u%s", groups > 0 ? "x" : "",
					 group[groups], groups > 0 ? "/" : "");
	}
	return used;
}

void
tile_path(struct tile_id id, char out[TILE_PATH_MAX])
{
	size_t used;

	if (id.level == TILE_ENTRIES)
		used = (size_t)snprintf(out, TILE_PATH_MAX, "tile/entries/");
	else
		used = (size_t)snprintf(out, TILE_PATH_MAX, "tile/%u/", id.level);
	used += path_number(id.n, out + used, TILE_PATH_MAX - used);
	if (id.width < TILE_WIDTH)
		(void)snprintf(out + used, TILE_PATH_MAX - used, ".p/%u", id.width);
}

struct tile_id
tile_edge(unsigned int level, uint64_t size)
{
	unsigned int shift = level == TILE_ENTRIES ? 0 : TILE_LEVEL_BITS * level;
	uint64_t count = size >> shift;

	return (struct tile_id){
		.level = level,
		.n = count / TILE_WIDTH,
		.width = (unsigned int)(count % TILE_WIDTH),
	};
}

/* ---- reading */

int
tile_read(int dirfd, struct tile_id id, struct buf *out, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char path[TILE_PATH_MAX];
	int r;

	tile_path(id, path);
	buf_reset(out);
	fd = ledger_openat(dirfd, path, O_RDONLY, 0, err);
	if (fd < 0)
		return fd;
	r = fd_read_to_end(fd, out, err);
	if (r < 0) {
		(void)error_prefix(err, "%s", path);
		return r;
	}
	if (id.level != TILE_ENTRIES && out->len != id.width * SHA256_LEN)
		return error_set(err, -EBADMSG, "%s: %zu bytes, not %u hashes", path, out->len,
				 id.width);
	return 0;
}

int
tile_bundle_entry(const struct buf *bundle, unsigned int i, const void **ret, size_t *ret_len,
		  struct error *err)
{
	size_t at = 0;

	for (;; i--) {
		const uint8_t *p = (const uint8_t *)bundle->data + at;
		size_t len;

		if (bundle->len - at < 2 || bundle->len - at - 2 < ((size_t)p[0] << 8 | p[1]))
			return error_set(err, -EBADMSG, "a bundle of entries ends too early");
		len = (size_t)p[0] << 8 | p[1];
		if (i == 0) {
			*ret = p + 2;
			*ret_len = len;
			return 0;
		}
		at += 2 + len;
	}
}

int
tile_entry_read(int dirfd, uint64_t index, uint64_t size, struct buf *out, struct error *err)
{
	CLEANUP(buf_fini) struct buf bundle = {0};
	struct tile_id id = tile_edge(TILE_ENTRIES, size);
	struct error why = {0};
	const void *entry;
	size_t len;
	int r = -ENOENT;

	buf_init(&bundle, TILE_BUNDLE_MAX);
	if (index / TILE_WIDTH == id.n)
		r = tile_read(dirfd, id, &bundle, &why);
	/* The full one is written before the partial ones go. */
	if (r == -ENOENT) {
		id.n = index / TILE_WIDTH;
		id.width = TILE_WIDTH;
		r = tile_read(dirfd, id, &bundle, err);
	}
	if (r < 0)
		return error_set(err, r, "%s", why.text);
	r = tile_bundle_entry(&bundle, (unsigned int)(index % TILE_WIDTH), &entry, &len, err);
	if (r < 0)
		return r;
	buf_add(out, entry, len);
	return buf_check(out, err);
}

/* ---- writing */

/* Make the folders of PATH beneath DIRFD. */
static int
make_parents(int dirfd, const char *path, struct error *err)
{
	char part[TILE_PATH_MAX];

	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++) {
		size_t n = (size_t)(p - path);

		memcpy(part, path, n);
		part[n] = '\0';
		if (mkdirat(dirfd, part, 0700) != 0 && errno != EEXIST)
			return error_sys(err, -errno, "make the directory %s", part);
	}
	return 0;
}

static int
tile_open_write(int dirfd, const char *path, struct error *err)
{
	const int flags = O_WRONLY | O_CREAT;
	struct error why = {0};
	int fd;

	fd = ledger_openat(dirfd, path, flags, 0600, &why);
	if (fd == -ENOENT) {
		int r = make_parents(dirfd, path, err);

		return r < 0 ? r : ledger_openat(dirfd, path, flags, 0600, err);
	}
	return fd < 0 ? error_set(err, fd, "%s", why.text) : fd;
}

/*
 * Not truncated first: a tile that is written again after a crash gets the bytes it had, and
 * whoever reads it meanwhile sees no difference.
 */
static int
tile_write(struct tiles *t, struct tile_id id, const void *data, size_t len, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char path[TILE_PATH_MAX];
	int r;

	if (t->n_dirty == t->cap_dirty) {
		size_t cap = t->cap_dirty == 0 ? 16 : 2 * t->cap_dirty;
		struct tile_id *more = reallocarray(t->dirty, cap, sizeof(*more));

		if (more == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		t->dirty = more;
		t->cap_dirty = cap;
	}
	tile_path(id, path);
	fd = tile_open_write(t->dirfd, path, err);
	if (fd < 0)
		return fd;
	r = fd_pwrite_all(fd, data, len, 0, err);
	if (r < 0) {
		(void)error_prefix(err, "%s", path);
		return r;
	}
	if (ftruncate(fd, (off_t)len) != 0)
		return error_sys(err, -errno, "%s: cut to its length", path);
	t->dirty[t->n_dirty++] = id;
	return 0;
}

static int
bundle_write(struct tiles *t, struct tile_id id, struct error *err)
{
	CLEANUP(buf_fini) struct buf bundle = {0};
	int r;

	id.level = TILE_ENTRIES;
	buf_init(&bundle, TILE_BUNDLE_MAX);
	r = t->source.bundle(t->source.ctx, id.n * TILE_WIDTH, id.width, &bundle, err);
	if (r == 0)
		r = buf_check(&bundle, err);
	return r < 0 ? r : tile_write(t, id, bundle.data, bundle.len, err);
}

int
tiles_init(struct tiles *t, int dirfd, struct tile_source source, struct error *err)
{
	*t = (struct tiles){.dirfd = dirfd, .source = source};
	return edge_init(&t->edge, err);
}

void
tiles_fini(struct tiles *t)
{
	edge_fini(&t->edge);
	free(t->dirty);
	*t = (struct tiles){.dirfd = -1};
}

void
tiles_reset(struct tiles *t)
{
	t->edge.size = 0;
	t->n_dirty = 0;
}

int
tiles_load(struct tiles *t, const struct tree_head *head, struct error *err)
{
	CLEANUP(buf_fini) struct buf data = {0};
	uint8_t root[SHA256_LEN];
	struct frontier f;
	int r;

	buf_init(&data, TILE_BYTES);
	for (unsigned int level = 0; level < TILE_LEVELS; level++) {
		struct tile_id id = tile_edge(level, head->size);

		if (id.width == 0)
			continue;
		r = tile_read(t->dirfd, id, &data, err);
		if (r < 0)
			return r;
		memcpy(t->edge.hash[level], data.data, data.len);
	}
	t->edge.size = head->size;
	edge_frontier(&t->edge, &f);
	frontier_root(&f, t->edge.sha, root);
	if (memcmp(root, head->root, sizeof(root)) == 0)
		return 0;
	t->edge.size = 0;
	return error_set(err, -EBADMSG, "the tiles do not have the root of the checkpoint");
}

static int
tile_full(void *ctx, unsigned int level, uint64_t n, edge_hashes hashes, struct error *err)
{
	const struct tile_id id = {level, n, TILE_WIDTH};
	int r;

	r = level == 0 ? bundle_write(ctx, id, err) : 0;
	return r < 0 ? r : tile_write(ctx, id, hashes, TILE_BYTES, err);
}

int
tiles_add(struct tiles *t, const uint8_t leaf[SHA256_LEN], struct error *err)
{
	size_t before = t->n_dirty;
	int r;

	r = edge_add(&t->edge, leaf, tile_full, t, err);
	if (r < 0)
		t->n_dirty = before;
	/* Never more than so many to sync at once. */
	while (r >= 0 && t->n_dirty > DIRTY_MAX)
		r = tiles_sync(t, err);
	return r < 0 ? r : 0;
}

uint64_t
tiles_size(const struct tiles *t)
{
	return t->edge.size;
}

int
tiles_partial(struct tiles *t, struct error *err)
{
	size_t before = t->n_dirty;
	int r = 0;

	for (unsigned int level = 0; level < TILE_LEVELS && r == 0; level++) {
		struct tile_id id = tile_edge(level, t->edge.size);

		if (id.width == 0)
			continue;
		r = level == 0 ? bundle_write(t, id, err) : 0;
		if (r == 0)
			r = tile_write(t, id, t->edge.hash[level], id.width * SHA256_LEN, err);
	}
	if (r < 0)
		t->n_dirty = before;
	return r;
}

static int
sync_path(int dirfd, const char *path, int flags, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;

	fd = ledger_openat(dirfd, path, flags | O_RDONLY, 0, err);
	if (fd < 0)
		return fd;
	if (fsync(fd) != 0)
		return error_sys(err, -errno, "sync %s", path);
	return 0;
}

int
tiles_sync(struct tiles *t, struct error *err)
{
	char path[TILE_PATH_MAX], *slash;
	int r;

	if (t->n_dirty == 0)
		return 0;
	tile_path(t->dirty[t->n_dirty - 1], path);
	r = sync_path(t->dirfd, path, 0, err);
	/* Its name, and the names of the folders it is in. */
	while (r == 0 && (slash = strrchr(path, '/')) != NULL) {
		*slash = '\0';
		r = sync_path(t->dirfd, path, O_DIRECTORY, err);
	}
	if (r < 0)
		return r;
	t->n_dirty--;
	return t->n_dirty > 0;
}

static void
closedirp(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

/* In the folder of partial tiles of ID remove all but two widths (0: none of that size here). */
static int
prune_one(struct tiles *t, struct tile_id id, unsigned int keep, unsigned int keep_too,
	  struct error *err)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	char path[TILE_PATH_MAX];
	struct dirent *e;
	int fd;

	id.width = 1;
	tile_path(id, path);
	*strrchr(path, '/') = '\0';
	fd = ledger_openat(t->dirfd, path, O_RDONLY | O_DIRECTORY, 0, NULL);
	if (fd == -ENOENT)
		return 0;
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		fd_close(fd);
		return error_set(err, -EIO, "%s: cannot be listed", path);
	}
	while ((e = readdir(dir)) != NULL) {
		char *end;
		unsigned long width = strtoul(e->d_name, &end, 10);

		if (width == 0 || *end != '\0' || width == keep || width == keep_too)
			continue;
		if (unlinkat(dirfd(dir), e->d_name, 0) != 0)
			return error_sys(err, -errno, "%s/%s: remove", path, e->d_name);
	}
	if (keep == 0 && keep_too == 0)
		(void)unlinkat(t->dirfd, path, AT_REMOVEDIR);
	return 0;
}

int
tiles_prune(struct tiles *t, uint64_t new_size, uint64_t old_size, struct error *err)
{
	for (unsigned int level = 0; level <= TILE_LEVELS; level++) {
		struct tile_id now = tile_edge(level, new_size);
		struct tile_id old = tile_edge(level, old_size);
		int r;

		r = prune_one(t, now, now.width, now.n == old.n ? old.width : 0, err);
		if (r == 0 && now.n != old.n)
			r = prune_one(t, old, 0, 0, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int
tiles_node(struct tiles *t, unsigned int level, uint64_t index, uint8_t ret[SHA256_LEN],
	   struct error *err)
{
	CLEANUP(buf_fini) struct buf data = {0};
	unsigned int tile_level = level / TILE_LEVEL_BITS, height = level % TILE_LEVEL_BITS;
	uint64_t first = index << height;
	struct tile_id id = {tile_level, first / TILE_WIDTH, TILE_WIDTH};
	unsigned int at = (unsigned int)(first % TILE_WIDTH);
	const uint8_t(*hashes)[SHA256_LEN];
	int r;

	if (id.n == tile_edge(tile_level, t->edge.size).n) {
		hashes = (const uint8_t(*)[SHA256_LEN])t->edge.hash[tile_level];
	} else {
		buf_init(&data, TILE_BYTES);
		r = tile_read(t->dirfd, id, &data, err);
		if (r < 0)
			return r;
		hashes = (const uint8_t(*)[SHA256_LEN])(const void *)data.data;
	}
	merkle_fold(t->edge.sha, hashes + at, (size_t)1 << height, ret);
	return 0;
}
