/*
 * Lines become small integers first (equal lines, equal numbers), by a hash with a key of this
 * process, so that no text can be made to collide. What the two have in common at either end is cut
 * off. The rest is divided at the middle snake, found by searching from both ends at once, and each
 * half likewise: linear space, and a depth that is logarithmic in the number of edits.
 *
 * A search that reaches SNAKE_COST_MAX edits gives up on the middle and divides where it came
 * furthest; one budget bounds the work for the whole pair. What is left when it is spent is shown
 * as replaced.
 */
#include "box/unified.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BINARY_LOOK_BYTES 8000
#define SNAKE_COST_MAX 1024
#define WORK_MAX (INT64_C(1) << 27) /* steps; about a second */

struct side {
	const char *data;
	size_t len;
	uint32_t n;	  /* lines */
	uint32_t *start;  /* n + 1 offsets */
	uint32_t *id;	  /* which line it is: equal lines have equal ids */
	uint8_t *changed; /* per line: not in the other text */
};

struct differ {
	struct side a, b;
	int32_t *forward,
		*backward; /* furthest x on each diagonal, indexed from -SNAKE_COST_MAX-1 */
	int64_t work;
};

bool
unified_is_binary(struct unified_text t)
{
	return memchr(t.data, '\0', t.len < BINARY_LOOK_BYTES ? t.len : BINARY_LOOK_BYTES) != NULL;
}

/* ---- lines ---- */

static int
side_split(struct side *s, struct unified_text t, struct error *err)
{
	size_t n = 0;

	if (t.len >= INT32_MAX / 2)
		return error_set(err, -EFBIG, "text too large to compare");
	s->data = t.data;
	s->len = t.len;
	for (size_t i = 0; i < t.len; i++)
		n += t.data[i] == '\n';
	if (t.len > 0 && t.data[t.len - 1] != '\n')
		n++;
	s->n = (uint32_t)n;
	s->start = malloc((n + 1) * sizeof(*s->start));
	s->id = malloc((n + 1) * sizeof(*s->id));
	s->changed = calloc(n + 1, 1);
	if (s->start == NULL || s->id == NULL || s->changed == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	n = 0;
	for (size_t at = 0; at < t.len;) {
		const char *nl = memchr(t.data + at, '\n', t.len - at);

		s->start[n++] = (uint32_t)at;
		at = nl == NULL ? t.len : (size_t)(nl - t.data) + 1;
	}
	s->start[n] = (uint32_t)t.len;
	return 0;
}

static void
side_fini(struct side *s)
{
	free(s->start);
	free(s->id);
	free(s->changed);
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide p = (wide)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t
line_hash(const char *p, size_t len, const uint64_t key[2])
{
	uint64_t h = key[0] ^ len;

	while (len > 0) {
		uint64_t word = 0;
		size_t n = len < 8 ? len : 8;

		memcpy(&word, p, n);
		h = mix(h ^ word, key[1]);
		p += n;
		len -= n;
	}
	return mix(h, key[1]);
}

struct line_slot {
	const char *p; /* NULL: free */
	uint32_t len;
	uint32_t id;
};

static void
side_number(struct side *s, struct line_slot *slots, size_t mask, const uint64_t key[2],
	    uint32_t *next_id)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const char *p = s->data + s->start[i];
		uint32_t len = s->start[i + 1] - s->start[i];
		size_t at = (size_t)line_hash(p, len, key) & mask;

		while (slots[at].p != NULL &&
		       (slots[at].len != len || memcmp(slots[at].p, p, len) != 0))
			at = (at + 1) & mask;
		if (slots[at].p == NULL)
			slots[at] = (struct line_slot){.p = p, .len = len, .id = (*next_id)++};
		s->id[i] = slots[at].id;
	}
}

static int
number_lines(struct differ *d, struct error *err)
{
	size_t cap = 64, lines = (size_t)d->a.n + d->b.n;
	struct line_slot *slots;
	uint64_t key[2];
	uint32_t next_id = 0;

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return error_sys(err, -errno, "getrandom");
	key[1] |= 1;
	while (cap < lines * 2)
		cap *= 2;
	slots = calloc(cap, sizeof(*slots));
	if (slots == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	side_number(&d->a, slots, cap - 1, key, &next_id);
	side_number(&d->b, slots, cap - 1, key, &next_id);
	free(slots);
	return 0;
}

/* ---- the middle snake ---- */

struct range {
	int32_t a, a_end, b, b_end;
};

struct split {
	int32_t a, b;
};

#define DIAGONALS (2 * (SNAKE_COST_MAX + 2) + 1)
#define MIDDLE (SNAKE_COST_MAX + 2)

static int32_t
further(const int32_t *v, int32_t k, int32_t cost)
{
	if (k == -cost || (k != cost && v[k - 1] < v[k + 1]))
		return v[k + 1];
	return v[k - 1] + 1;
}

/* One more edit from the front. True when it met what came from the back. */
static bool
search_forward(struct differ *d, const struct range *r, int32_t cost, struct split *ret)
{
	const int32_t n = r->a_end - r->a, m = r->b_end - r->b, delta = n - m;
	int32_t *f = d->forward + MIDDLE, *g = d->backward + MIDDLE;

	for (int32_t k = -cost; k <= cost; k += 2) {
		int32_t x = further(f, k, cost), y = x - k, back = delta - k;

		while (x < n && y < m && x >= 0 && y >= 0 &&
		       d->a.id[r->a + x] == d->b.id[r->b + y]) {
			x++;
			y++;
			d->work--;
		}
		f[k] = x;
		d->work--;
		if ((delta & 1) == 0 || back < -(cost - 1) || back > cost - 1)
			continue;
		if (x + g[back] >= n && x <= n && y >= 0 && y <= m) {
			*ret = (struct split){.a = r->a + x, .b = r->b + y};
			return true;
		}
	}
	return false;
}

/* The same from the back: g[k] counts lines taken from the ends. */
static bool
search_backward(struct differ *d, const struct range *r, int32_t cost, struct split *ret)
{
	const int32_t n = r->a_end - r->a, m = r->b_end - r->b, delta = n - m;
	int32_t *f = d->forward + MIDDLE, *g = d->backward + MIDDLE;

	for (int32_t k = -cost; k <= cost; k += 2) {
		int32_t x = further(g, k, cost), y = x - k, ahead = delta - k;

		while (x < n && y < m && x >= 0 && y >= 0 &&
		       d->a.id[r->a_end - 1 - x] == d->b.id[r->b_end - 1 - y]) {
			x++;
			y++;
			d->work--;
		}
		g[k] = x;
		d->work--;
		if ((delta & 1) != 0 || ahead < -cost || ahead > cost)
			continue;
		if (x + f[ahead] >= n && x <= n && y >= 0 && y <= m) {
			*ret = (struct split){.a = r->a_end - x, .b = r->b_end - y};
			return true;
		}
	}
	return false;
}

/* Where the forward search came furthest, inside the range. */
static struct split
furthest(const struct differ *d, const struct range *r, int32_t cost)
{
	const int32_t n = r->a_end - r->a, m = r->b_end - r->b;
	const int32_t *f = d->forward + MIDDLE;
	struct split best = {.a = r->a, .b = r->b};

	for (int32_t k = -cost; k <= cost; k += 2) {
		int32_t x = f[k] < n ? f[k] : n, y = x - k;

		if (y > m) {
			y = m;
			x = y + k;
		}
		if (x < 0 || y < 0)
			continue;
		if (r->a + x + r->b + y > best.a + best.b)
			best = (struct split){.a = r->a + x, .b = r->b + y};
	}
	return best;
}

/* Find a point that a shortest (or at least a sensible) path through the range goes through. */
static bool
divide(struct differ *d, const struct range *r, struct split *ret)
{
	d->forward[MIDDLE + 1] = 0;
	d->backward[MIDDLE + 1] = 0;
	for (int32_t cost = 0; d->work > 0; cost++) {
		if (cost > SNAKE_COST_MAX) {
			*ret = furthest(d, r, cost - 1);
			return true;
		}
		if (search_forward(d, r, cost, ret) || search_backward(d, r, cost, ret))
			return true;
	}
	return false;
}

static void
mark(struct differ *d, const struct range *r)
{
	if (r->a_end > r->a)
		memset(d->a.changed + r->a, 1, (size_t)(r->a_end - r->a));
	if (r->b_end > r->b)
		memset(d->b.changed + r->b, 1, (size_t)(r->b_end - r->b));
}

/* The first half by recursion, the second by going round: the depth stays logarithmic. */
static void
compare(struct differ *d, struct range r)
{
	for (;;) {
		struct range first;
		struct split at;

		while (r.a < r.a_end && r.b < r.b_end && d->a.id[r.a] == d->b.id[r.b]) {
			r.a++;
			r.b++;
		}
		while (r.a < r.a_end && r.b < r.b_end &&
		       d->a.id[r.a_end - 1] == d->b.id[r.b_end - 1]) {
			r.a_end--;
			r.b_end--;
		}
		if (r.a == r.a_end || r.b == r.b_end || !divide(d, &r, &at) ||
		    (at.a == r.a && at.b == r.b) || (at.a == r.a_end && at.b == r.b_end)) {
			mark(d, &r);
			return;
		}
		first = (struct range){.a = r.a, .a_end = at.a, .b = r.b, .b_end = at.b};
		compare(d, first);
		r.a = at.a;
		r.b = at.b;
	}
}

/* ---- hunks ---- */

static void
put_range(struct buf *out, char sign, uint32_t first, uint32_t n)
{
	/* An empty range names the line before it; a count of one is left out. */
	buf_fmt(out, "%c%u", sign, n == 0 ? first : first + 1);
	if (n != 1)
		buf_fmt(out, ",%u", n);
}

static void
put_lines(struct buf *out, const struct side *s, char sign, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		buf_char(out, sign);
		buf_add(out, s->data + s->start[i], s->start[i + 1] - s->start[i]);
		if (s->data[s->start[i + 1] - 1] != '\n')
			buf_str(out, "\n\\ No newline at end of file\n");
	}
}

/* Lines from (a, b) to (a_end, b_end): unchanged ones advance both sides. */
static void
put_hunk(struct differ *d, struct buf *out, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
	buf_str(out, "@@ ");
	put_range(out, '-', a, a_end - a);
	buf_char(out, ' ');
	put_range(out, '+', b, b_end - b);
	buf_str(out, " @@\n");
	while (a < a_end || b < b_end) {
		uint32_t a_from = a, b_from = b;

		while (a < a_end && d->a.changed[a])
			a++;
		put_lines(out, &d->a, '-', a_from, a);
		while (b < b_end && d->b.changed[b])
			b++;
		put_lines(out, &d->b, '+', b_from, b);
		a_from = a;
		while (a < a_end && b < b_end && !d->a.changed[a] && !d->b.changed[b]) {
			a++;
			b++;
		}
		put_lines(out, &d->a, ' ', a_from, a);
	}
}

static void
put_hunks(struct differ *d, struct buf *out)
{
	uint32_t a = 0, b = 0;

	while (!out->failed) {
		uint32_t a_from, b_from, a_end, b_end, quiet = 0;

		while (a < d->a.n && b < d->b.n && !d->a.changed[a] && !d->b.changed[b]) {
			a++;
			b++;
		}
		if (a == d->a.n && b == d->b.n)
			return;
		/* What came before is equal on both sides, so one number of lines does for both. */
		a_from = a > UNIFIED_CONTEXT && b > UNIFIED_CONTEXT ? UNIFIED_CONTEXT
			 : a < b				    ? a
								    : b;
		b_from = b - a_from;
		a_from = a - a_from;
		a_end = a;
		b_end = b;
		/* On until so many unchanged lines follow that two contexts would not touch. */
		while ((a < d->a.n || b < d->b.n) && quiet <= 2 * UNIFIED_CONTEXT) {
			if ((a < d->a.n && d->a.changed[a]) || (b < d->b.n && d->b.changed[b])) {
				while (a < d->a.n && d->a.changed[a])
					a++;
				while (b < d->b.n && d->b.changed[b])
					b++;
				quiet = 0;
				a_end = a;
				b_end = b;
			} else {
				a++;
				b++;
				quiet++;
			}
		}
		for (uint32_t i = 0; i < UNIFIED_CONTEXT && a_end < d->a.n && b_end < d->b.n; i++) {
			a_end++;
			b_end++;
		}
		put_hunk(d, out, a_from, a_end, b_from, b_end);
		a = a_end;
		b = b_end;
	}
}

int
unified_hunks(struct unified_text a, struct unified_text b, struct buf *out, struct error *err)
{
	struct differ d = {.work = WORK_MAX};
	int r;

	if (a.len == b.len && memcmp(a.data, b.data, a.len) == 0)
		return 0;
	r = side_split(&d.a, a, err);
	if (r == 0)
		r = side_split(&d.b, b, err);
	if (r == 0)
		r = number_lines(&d, err);
	d.forward = calloc(DIAGONALS, sizeof(*d.forward));
	d.backward = calloc(DIAGONALS, sizeof(*d.backward));
	if (r == 0 && (d.forward == NULL || d.backward == NULL))
		r = error_set(err, -ENOMEM, "out of memory");
	if (r == 0) {
		compare(&d, (struct range){.a_end = (int32_t)d.a.n, .b_end = (int32_t)d.b.n});
		put_hunks(&d, out);
		r = buf_check(out, err);
	}
	free(d.forward);
	free(d.backward);
	side_fini(&d.a);
	side_fini(&d.b);
	return r;
}

void
unified_path(struct buf *out, const char *prefix, const char *path)
{
	bool quote = false;

	for (const char *p = path; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		quote = quote || c < 0x20 || c > 0x7e || c == '"' || c == '\\';
	}
	if (!quote) {
		buf_str(out, prefix);
		buf_str(out, path);
		return;
	}
	buf_char(out, '"');
	buf_str(out, prefix);
	for (const char *p = path; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\') {
			buf_char(out, '\\');
			buf_char(out, *p);
		} else if (c == '\n') {
			buf_str(out, "\\n");
		} else if (c == '\t') {
			buf_str(out, "\\t");
		} else if (c < 0x20 || c > 0x7e) {
			buf_fmt(out, "\\%03o", c);
		} else {
			buf_char(out, *p);
		}
	}
	buf_char(out, '"');
}
