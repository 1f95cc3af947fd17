/*
 * A loop over values with a stack of the containers around them; a container remembers its last
 * key, because keys must ascend. Strings are skipped eight bytes at a time while nothing in them
 * needs a look (Mycroft's test for a byte, on a word).
 */
#include "model/scan.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

struct level {
	bool object;
	struct scan_span last; /* key, with its quotes; len 0: none yet */
};

struct scan {
	const uint8_t *start, *p, *end;
	struct level level[JSON_DEPTH_MAX];
	unsigned int depth;
};

static int
scan_bad(const struct scan *s, struct error *err, const char *what)
{
	return error_set(err, -EBADMSG, "not canonical JSON at byte %zu: %s",
			 (size_t)(s->p - s->start), what);
}

/* Does one of the eight bytes need a look: below space, above ASCII, quote or backslash? */
static bool
word_special(uint64_t w)
{
	uint64_t quote = w ^ ONES * '"', slash = w ^ ONES * '\\';

	/* May say yes for a byte after one that is special; never no for a special one. */
	return ((w | (w - ONES * 0x20) | (quote - ONES) | (slash - ONES)) & HIGHS) != 0;
}

/* After a backslash: the one way to write what needs it. */
static int
scan_escape(struct scan *s, struct error *err)
{
	static const char shorts[] = "\"\\bfnrt";
	const uint8_t *p = s->p;
	uint8_t low;

	if (s->end - p >= 1 && *p != '\0' && strchr(shorts, *p) != NULL) {
		s->p++;
		return 0;
	}
	if (s->end - p < 5 || memcmp(p, "u00", 3) != 0 || (p[3] != '0' && p[3] != '1'))
		return scan_bad(s, err, "an escape that is not needed");
	low = p[4];
	if (!((low >= '0' && low <= '9') || (low >= 'a' && low <= 'f')))
		return scan_bad(s, err, "an escape that is not needed");
	/* NUL is refused; \b \t \n \f \r have shorter forms. */
	if (p[3] == '0' && strchr("089acd", low) != NULL)
		return scan_bad(s, err, "an escape with a shorter form");
	s->p += 5;
	return 0;
}

/* A string, from quote to quote. KEY: only ASCII. */
static int
scan_string(struct scan *s, bool key, struct scan_span *ret, struct error *err)
{
	const uint8_t *from = s->p;
	uint32_t c;
	size_t n;
	int r;

	if (s->p == s->end || *s->p != '"')
		return scan_bad(s, err, "no string");
	s->p++;
	for (;;) {
		uint64_t w;

		while (s->end - s->p >= (ptrdiff_t)sizeof(w)) {
			memcpy(&w, s->p, sizeof(w));
			if (word_special(w))
				break;
			s->p += sizeof(w);
		}
		while (s->p < s->end && *s->p >= 0x20 && *s->p < 0x80 && *s->p != '"' &&
		       *s->p != '\\')
			s->p++;
		if (s->p == s->end || *s->p < 0x20)
			return scan_bad(s, err, "a string that does not end");
		if (*s->p == '"') {
			s->p++;
			*ret = (struct scan_span){from, (size_t)(s->p - from)};
			return 0;
		}
		if (*s->p == '\\') {
			s->p++;
			r = scan_escape(s, err);
			if (r < 0)
				return r;
			continue;
		}
		n = key ? 0 : utf8_next(s->p, (size_t)(s->end - s->p), &c);
		if (n == 0)
			return scan_bad(s, err, key ? "a key beyond ASCII" : "not UTF-8");
		s->p += n;
	}
}

static int
scan_number(struct scan *s, struct error *err)
{
	bool minus = *s->p == '-';
	const uint8_t *digits;
	uint64_t v = 0;

	s->p += minus;
	digits = s->p;
	for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
		v = v * 10 + (uint64_t)(*s->p - '0');
		if (v > JSON_INT_MAX)
			return scan_bad(s, err, "an integer beyond 2^53-1");
	}
	if (s->p == digits || (*digits == '0' && (minus || s->p - digits > 1)))
		return scan_bad(s, err, "no integer in its one form");
	return 0;
}

static int
scan_word(struct scan *s, struct error *err)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(s->end - s->p) >= n && memcmp(s->p, words[i], n) == 0) {
			s->p += n;
			return 0;
		}
	}
	return scan_bad(s, err, "no value");
}

/* The next byte that a key's text means; -1 at its end. */
static int
key_byte(const uint8_t **p)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const uint8_t *q = *p;
	const char *at;

	if (*q == '"')
		return -1;
	if (*q != '\\') {
		*p = q + 1;
		return *q;
	}
	if (q[1] == 'u') {
		uint8_t low = q[5];

		*p = q + 6;
		return (q[4] - '0') * 16 + (low <= '9' ? low - '0' : low - 'a' + 10);
	}
	*p = q + 2;
	at = strchr(from, q[1]);
	return at != NULL ? to[at - from] : q[1];
}

static bool
key_ascends(struct scan_span before, struct scan_span after)
{
	const uint8_t *a, *b;
	int x, y;

	if (before.len == 0)
		return true;
	a = before.at + 1;
	b = after.at + 1;
	do {
		x = key_byte(&a);
		y = key_byte(&b);
	} while (x == y && x >= 0);
	return x < y;
}

static bool
scan_takes(struct scan *s, uint8_t c)
{
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* A key and its colon, in the innermost object. */
static int
scan_key(struct scan *s, struct error *err)
{
	struct level *l = &s->level[s->depth - 1];
	struct scan_span key;
	int r;

	r = scan_string(s, true, &key, err);
	if (r < 0)
		return r;
	if (!key_ascends(l->last, key))
		return scan_bad(s, err, "keys out of order, or one twice");
	l->last = key;
	return scan_takes(s, ':') ? 0 : scan_bad(s, err, "no colon after a key");
}

/*
 * A value that begins here: whole when it is a scalar or an empty container, else its container is
 * opened and, in an object, the first key taken. *ret_open says which.
 */
static int
scan_begin(struct scan *s, bool *ret_open, struct error *err)
{
	struct scan_span text;
	uint8_t c = s->p < s->end ? *s->p : 0;
	bool object = c == '{';

	*ret_open = false;
	if (c == '"')
		return scan_string(s, false, &text, err);
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s, err);
	if (!object && c != '[')
		return scan_word(s, err);
	if (s->depth == JSON_DEPTH_MAX)
		return scan_bad(s, err, "nested too deeply");
	s->p++;
	if (scan_takes(s, object ? '}' : ']'))
		return 0;
	s->level[s->depth++] = (struct level){.object = object};
	*ret_open = true;
	return object ? scan_key(s, err) : 0;
}

static const struct {
	const char *key; /* with its quotes */
	size_t offset;
} wanted[] = {
	{"\"v\"", offsetof(struct scan_entry, v)},
	{"\"kind\"", offsetof(struct scan_entry, kind)},
	{"\"time\"", offsetof(struct scan_entry, time)},
	{"\"event\"", offsetof(struct scan_entry, event)},
	{"\"op\"", offsetof(struct scan_entry, op)},
	{"\"session\"", offsetof(struct scan_entry, session)},
	{"\"digest\"", offsetof(struct scan_entry, digest)},
	{"\"intent\"", offsetof(struct scan_entry, intent)},
	{"\"result\"", offsetof(struct scan_entry, result)},
	{"\"blobs\"", offsetof(struct scan_entry, blobs)},
};

/* A member of the outermost object has ended that began at FROM. */
static void
note_member(const struct scan *s, const uint8_t *from, struct scan_entry *ret)
{
	struct scan_span key = s->level[0].last;

	ret->n_members++;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (key.len == strlen(wanted[i].key) && memcmp(key.at, wanted[i].key, key.len) == 0)
			*(struct scan_span *)((char *)ret + wanted[i].offset) =
				(struct scan_span){from, (size_t)(s->p - from)};
}

int
scan_object(const void *data, size_t len, struct scan_entry *ret, struct error *err)
{
	struct scan s = {.start = data, .p = data, .end = (const uint8_t *)data + len};
	const uint8_t *member = NULL;
	struct scan_entry found = {0};
	bool opened;
	int r;

	if (len == 0 || *s.p != '{')
		return scan_bad(&s, err, "no object");
	r = scan_begin(&s, &opened, err);
	while (r == 0 && s.depth > 0) {
		if (s.depth == 1 && opened)
			member = s.p;
		r = scan_begin(&s, &opened, err);
		/* Values end one or more containers, or go on to the next. */
		while (r == 0 && !opened && s.depth > 0) {
			struct level *l = &s.level[s.depth - 1];

			if (s.depth == 1)
				note_member(&s, member, &found);
			if (scan_takes(&s, ',')) {
				r = l->object ? scan_key(&s, err) : 0;
				if (s.depth == 1)
					member = s.p;
				break;
			}
			if (!scan_takes(&s, l->object ? '}' : ']'))
				r = scan_bad(&s, err, "a value that goes on");
			else
				s.depth--;
		}
	}
	if (r < 0)
		return r;
	if (s.p != s.end)
		return scan_bad(&s, err, "bytes after the object");
	*ret = found;
	return 0;
}

bool
scan_is(struct scan_span s, const char *text)
{
	size_t n = strlen(text);

	return s.len == n + 2 && s.at[0] == '"' && memcmp(s.at + 1, text, n) == 0;
}

int
scan_u64(struct scan_span s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.len == 0 || s.len > 16)
		return -EBADMSG;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return -EBADMSG;
		v = v * 10 + (uint64_t)(s.at[i] - '0');
	}
	*ret = v;
	return 0;
}

static int
nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
scan_hash(struct scan_span s, uint8_t ret[SHA256_LEN])
{
	uint8_t hash[SHA256_LEN];

	if (s.len != 2 + 2 * SHA256_LEN || s.at[0] != '"')
		return -EBADMSG;
	for (size_t i = 0; i < SHA256_LEN; i++) {
		int high = nibble(s.at[1 + 2 * i]), low = nibble(s.at[2 + 2 * i]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		hash[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret, hash, sizeof(hash));
	return 0;
}

int
scan_op(struct scan_span s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.len != 2 + 19 || memcmp(s.at, "\"op_", 4) != 0)
		return -EBADMSG;
	for (size_t i = 4; i < 20; i++) {
		int n = nibble(s.at[i]);

		if (n < 0)
			return -EBADMSG;
		v = v << 4 | (uint64_t)n;
	}
	*ret = v;
	return 0;
}

int
scan_hashes(struct scan_span s, uint8_t ret[ENTRY_BLOBS_MAX][SHA256_LEN], uint32_t *ret_n)
{
	const size_t item = 2 + 2 * SHA256_LEN;
	uint32_t n = 0;
	size_t at = 1;

	*ret_n = 0;
	if (s.len == 0)
		return 0;
	if (s.at[0] != '[')
		return -EBADMSG;
	while (at + item < s.len) {
		if (n == ENTRY_BLOBS_MAX ||
		    scan_hash((struct scan_span){s.at + at, item}, ret[n]) < 0)
			return -EBADMSG;
		n++;
		at += item;
		if (s.at[at] == ',' && at + 1 + item < s.len)
			at++;
		else
			break;
	}
	if (at + 1 != s.len || s.at[at] != ']')
		return -EBADMSG;
	*ret_n = n;
	return 0;
}
