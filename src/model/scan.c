/*
 * A loop over values with a stack of the containers around them; a container remembers its last
 * key, because keys must ascend. Strings are skipped eight bytes at a time while nothing in them
 * needs a look (Mycroft's test for a byte, on a word).
 */
#include "model/scan.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

struct level {
	bool object;
	bool escaped;	       /* there is a backslash in LAST */
	struct scan_span last; /* key, with its quotes; len 0: none yet */
};

struct scan {
	const uint8_t *start, *p, *end;
	struct level level[JSON_DEPTH_MAX];
	unsigned int depth;
	bool escaped; /* the string that was read last had a backslash; whoever asks clears it */
};

static int
scan_bad(const struct scan *s, struct error *err, const char *what)
{
	return error_set(err, -EBADMSG, "not canonical JSON at byte %zu: %s",
			 (size_t)(s->p - s->start), what);
}

/*
 * The high bit of each of the eight bytes that needs a look: below space, above ASCII, quote or
 * backslash. Behind the first such byte others may be marked that need none; never before it.
 */
static uint64_t
word_special(uint64_t w)
{
	uint64_t quote = w ^ ONES * '"', slash = w ^ ONES * '\\';

	return (w | (w - ONES * 0x20) | (quote - ONES) | (slash - ONES)) & HIGHS;
}

/* The first byte from P on that needs a look, or END. */
static const uint8_t *
skip_plain(const uint8_t *p, const uint8_t *end)
{
	for (uint64_t w, special; end - p >= (ptrdiff_t)sizeof(w); p += sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		special = word_special(le64toh(w));
		if (special != 0)
			return p + __builtin_ctzll(special) / 8;
	}
	while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
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
		s->p = skip_plain(s->p, s->end);
		if (s->p == s->end || *s->p < 0x20)
			return scan_bad(s, err, "a string that does not end");
		if (*s->p == '"') {
			s->p++;
			*ret = (struct scan_span){from, (size_t)(s->p - from)};
			return 0;
		}
		if (*s->p == '\\') {
			s->p++;
			s->escaped = true;
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
key_ascends(struct scan_span before, struct scan_span after, bool escaped)
{
	size_t least = before.len < after.len ? before.len : after.len;
	const uint8_t *a, *b;
	int x, y;

	if (before.len == 0)
		return true;
	if (!escaped) {
		/* Without the closing quotes, which are not part of the order. */
		x = memcmp(before.at, after.at, least - 1);
		return x < 0 || (x == 0 && before.len < after.len);
	}
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

	s->escaped = false;
	r = scan_string(s, true, &key, err);
	if (r < 0)
		return r;
	if (!key_ascends(l->last, key, s->escaped || l->escaped))
		return scan_bad(s, err, "keys out of order, or one twice");
	l->last = key;
	l->escaped = s->escaped;
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

/* Members that are looked for, with the quotes around their keys. */
#define WANTED(member)                                                                             \
	{                                                                                          \
		"\"" #member "\"", sizeof("\"" #member "\"") - 1,                                  \
			offsetof(struct scan_entry, member)                                        \
	}
static const struct {
	const char *key;
	size_t len;
	size_t offset;
} wanted[] = {
	WANTED(v),	 WANTED(kind),	 WANTED(time),	 WANTED(event),	 WANTED(op),
	WANTED(session), WANTED(digest), WANTED(intent), WANTED(result), WANTED(blobs),
};

/* A member of the outermost object has ended that began at FROM. */
static void
note_member(const struct scan *s, const uint8_t *from, struct scan_entry *ret)
{
	struct scan_span key = s->level[0].last;

	ret->n_members++;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (key.len == wanted[i].len && memcmp(key.at, wanted[i].key, key.len) == 0)
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

/* Value of a lower-case hex digit; 16 for all else. */
static unsigned int
nibble(uint8_t c)
{
	static const uint8_t table[256] = {
		['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	};

	return (table[c] - 1U) & 0x1f;
}

int
scan_hash(struct scan_span s, uint8_t ret[SHA256_LEN])
{
	uint8_t hash[SHA256_LEN];
	unsigned int bad = 0;

	if (s.len != 2 + 2 * SHA256_LEN || s.at[0] != '"')
		return -EBADMSG;
	for (size_t i = 0; i < SHA256_LEN; i++) {
		unsigned int high = nibble(s.at[1 + 2 * i]), low = nibble(s.at[2 + 2 * i]);

		bad |= (high | low) & 0x10;
		hash[i] = (uint8_t)(high << 4 | low);
	}
	if (bad != 0)
		return -EBADMSG;
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
		unsigned int n = nibble(s.at[i]);

		if (n > 0xf)
			return -EBADMSG;
		v = v << 4 | n;
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
