/*
 * jansson reads; what it lets through and we do not (floats, big integers, depth) is refused by a
 * walk over the value. The two writers, canonical text and digest, refuse the same values, so that
 * what can be signed can be stored and the other way round. A refused value leaves OUT as it was.
 *
 * RFC 8785 sorts keys by UTF-16 code units; for ASCII keys that is strcmp.
 */
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/text.h"

#define JSON_KEY_SHOWN "%.64s"

/* jansson would open /dev/urandom on the first object, perhaps after we gave up opening files. */
__attribute__((constructor)) static void
json_seed(void)
{
	size_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed) && seed != 0)
		json_object_seed(seed);
}

/* jansson's accessors for iteration are not const, though they change nothing. */
static json_t *
json_mutable(const json_t *v)
{
	return (json_t *)(uintptr_t)v;
}

static int
json_int_check(const json_t *v, struct error *err)
{
	json_int_t i = json_integer_value(v);

	if (i > JSON_INT_MAX || i < -JSON_INT_MAX)
		return error_set(err, -EINVAL, "integer beyond 2^53-1: %lld", (long long)i);
	return 0;
}

static int
json_depth_check(unsigned int depth, struct error *err)
{
	if (depth >= JSON_DEPTH_MAX)
		return error_set(err, -EINVAL, "nested deeper than %d", JSON_DEPTH_MAX);
	return 0;
}

static int
json_string_check(const json_t *v, struct error *err)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);

	if (memchr(s, '\0', len) != NULL)
		return error_set(err, -EINVAL, "string contains NUL");
	if (!utf8_valid(s, len))
		return error_set(err, -EINVAL, "string is not UTF-8");
	return 0;
}

static int
json_key_check(const char *key, struct error *err)
{
	for (const char *p = key; *p != '\0'; p++)
		if ((unsigned char)*p >= 0x80)
			return error_set(err, -EINVAL, "key is not ASCII");
	return 0;
}

static int
json_walk_children(json_t *v, unsigned int depth, struct error *err);

/* Refuse what reading refuses beyond jansson. */
static int
json_walk(json_t *v, unsigned int depth, struct error *err)
{
	int r;

	if (json_is_real(v))
		return error_set(err, -EINVAL, "number with a fraction or exponent");
	if (json_is_integer(v))
		return json_int_check(v, err);
	if (!json_is_object(v) && !json_is_array(v))
		return 0;
	r = json_depth_check(depth, err);
	return r < 0 ? r : json_walk_children(v, depth + 1, err);
}

static int
json_walk_children(json_t *v, unsigned int depth, struct error *err)
{
	const char *key;
	json_t *child;
	size_t i;
	int r;

	json_array_foreach(v, i, child)
	{
		r = json_walk(child, depth, err);
		if (r < 0)
			return r;
	}
	json_object_foreach(v, key, child)
	{
		r = json_walk(child, depth, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int
json_read(const void *data, size_t len, json_t **ret_value, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	json_error_t why = {0};
	int r;

	v = json_loadb(data, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
	/* Some allocations fail in jansson without a word. */
	if (v == NULL && (json_error_code(&why) == json_error_out_of_memory || why.text[0] == '\0'))
		return error_set(err, -ENOMEM, "JSON: out of memory");
	if (v == NULL)
		return error_set(err, -EINVAL, "JSON, line %d column %d: %s", why.line, why.column,
				 why.text);
	r = json_walk(v, 0, err);
	if (r < 0)
		return error_prefix(err, "JSON");
	*ret_value = TAKE_PTR(v);
	return 0;
}

int
json_read_canonical(const void *data, size_t len, json_t **ret_value, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	CLEANUP(buf_fini) struct buf again = {0};
	int r;

	r = json_read(data, len, &v, err);
	if (r < 0)
		return r;
	/* One byte more than was read is already a difference. */
	buf_init(&again, len);
	r = json_write_canonical(v, &again, NULL);
	if (r == -ENOMEM)
		return error_set(err, r, "JSON: out of memory");
	if (r < 0 || again.len != len || memcmp(again.data, data, len) != 0)
		return error_set(err, -EBADMSG, "JSON is not in canonical form");
	*ret_value = TAKE_PTR(v);
	return 0;
}

/* A sink is one of the two writers: what they share is the walk, its order and its refusals. */
struct sink {
	struct buf *text;
	struct sha256 *hash;
};

static void
sink_head(struct sink *s, char type, size_t count)
{
	uint8_t head[] = {(uint8_t)type, (uint8_t)(count >> 24), (uint8_t)(count >> 16),
			  (uint8_t)(count >> 8), (uint8_t)count};

	sha256_add(s->hash, head, sizeof(head));
}

static void
text_string(const char *s, size_t len, struct buf *out)
{
	/* RFC 8785, 3.2.2.2: the two-character forms where JSON has one, else lower-case hex. */
	static const char *const shorts[0x20] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r",
	};

	buf_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\') {
			buf_char(out, '\\');
			buf_char(out, s[i]);
		} else if (c < 0x20 && shorts[c] != NULL) {
			buf_str(out, shorts[c]);
		} else if (c < 0x20) {
			buf_fmt(out, "\\u%04x", c);
		} else {
			buf_char(out, s[i]);
		}
	}
	buf_char(out, '"');
}

static int
sink_string(struct sink *s, const char *text, size_t len, struct error *err)
{
	if (s->text != NULL) {
		text_string(text, len, s->text);
		return 0;
	}
	if (len > UINT32_MAX)
		return error_set(err, -EINVAL, "string longer than 2^32-1 bytes");
	sink_head(s, 's', len);
	sha256_add(s->hash, text, len);
	return 0;
}

static int
sink_int(struct sink *s, const json_t *v, struct error *err)
{
	json_int_t i = json_integer_value(v);
	uint8_t be[9] = {'i'};
	int r;

	r = json_int_check(v, err);
	if (r < 0)
		return r;
	if (s->text != NULL) {
		buf_fmt(s->text, "%lld", (long long)i);
		return 0;
	}
	for (unsigned int k = 0; k < 8; k++)
		be[1 + k] = (uint8_t)((uint64_t)i >> (56 - 8 * k));
	sha256_add(s->hash, be, sizeof(be));
	return 0;
}

static void
sink_word(struct sink *s, const char *word)
{
	if (s->text != NULL)
		buf_str(s->text, word);
	else
		sha256_add(s->hash, word, 1); /* 't', 'f' and 'n' are the first letters */
}

static void
sink_open(struct sink *s, char type, size_t count)
{
	if (s->text != NULL)
		buf_char(s->text, type == 'o' ? '{' : '[');
	else
		sink_head(s, type, count);
}

static void
sink_punct(struct sink *s, char c)
{
	if (s->text != NULL)
		buf_char(s->text, c);
}

static int
key_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
keys_freep(const char ***keys)
{
	free(*keys);
}

/* The keys of OBJ in byte order, borrowed from it. */
static int
keys_sorted(json_t *obj, const char ***ret_keys, struct error *err)
{
	CLEANUP(keys_freep) const char **keys = NULL;
	const char *key;
	json_t *child;
	size_t n = 0;
	int r;

	keys = calloc(json_object_size(obj) + 1, sizeof(*keys));
	if (keys == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	json_object_foreach(obj, key, child)
	{
		(void)child;
		r = json_key_check(key, err);
		if (r < 0)
			return r;
		keys[n++] = key;
	}
	qsort(keys, n, sizeof(*keys), key_compare);
	*ret_keys = TAKE_PTR(keys);
	return 0;
}

static int
sink_value(struct sink *s, json_t *v, unsigned int depth, struct error *err);

static int
sink_object(struct sink *s, json_t *obj, unsigned int depth, struct error *err)
{
	CLEANUP(keys_freep) const char **keys = NULL;
	size_t n = json_object_size(obj);
	int r;

	if (n > UINT32_MAX)
		return error_set(err, -EINVAL, "object with more than 2^32-1 members");
	r = keys_sorted(obj, &keys, err);
	if (r < 0)
		return r;
	sink_open(s, 'o', n);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			sink_punct(s, ',');
		r = sink_string(s, keys[i], strlen(keys[i]), err);
		if (r < 0)
			return r;
		sink_punct(s, ':');
		r = sink_value(s, json_object_get(obj, keys[i]), depth, err);
		if (r < 0)
			return r;
	}
	sink_punct(s, '}');
	return 0;
}

static int
sink_array(struct sink *s, json_t *array, unsigned int depth, struct error *err)
{
	size_t n = json_array_size(array);
	int r;

	if (n > UINT32_MAX)
		return error_set(err, -EINVAL, "array with more than 2^32-1 members");
	sink_open(s, 'a', n);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			sink_punct(s, ',');
		r = sink_value(s, json_array_get(array, i), depth, err);
		if (r < 0)
			return r;
	}
	sink_punct(s, ']');
	return 0;
}

static int
sink_value(struct sink *s, json_t *v, unsigned int depth, struct error *err)
{
	int r;

	if (v == NULL)
		return error_set(err, -EINVAL, "no value");
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		r = json_depth_check(depth, err);
		return r < 0 ? r : sink_object(s, v, depth + 1, err);
	case JSON_ARRAY:
		r = json_depth_check(depth, err);
		return r < 0 ? r : sink_array(s, v, depth + 1, err);
	case JSON_STRING:
		r = json_string_check(v, err);
		return r < 0 ? r : sink_string(s, json_string_value(v), json_string_length(v), err);
	case JSON_INTEGER:
		return sink_int(s, v, err);
	case JSON_TRUE:
		sink_word(s, "true");
		return 0;
	case JSON_FALSE:
		sink_word(s, "false");
		return 0;
	case JSON_NULL:
		sink_word(s, "null");
		return 0;
	case JSON_REAL:
		break;
	}
	return error_set(err, -EINVAL, "number with a fraction or exponent");
}

int
json_write_canonical(const json_t *v, struct buf *out, struct error *err)
{
	struct sink s = {.text = out};
	size_t before = out->len;
	int r;

	r = sink_value(&s, json_mutable(v), 0, err);
	if (r == 0)
		r = buf_check(out, err);
	if (r < 0)
		buf_cut(out, before);
	return r;
}

int
json_digest(const char *domain, const json_t *v, uint8_t ret_digest[32], struct error *err)
{
	CLEANUP(sha256_freep) struct sha256 *hash = sha256_new();
	struct sink s = {.hash = hash};
	int r;

	if (hash == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	sha256_add(hash, domain, strlen(domain) + 1);
	r = sink_value(&s, json_mutable(v), 0, err);
	if (r < 0)
		return r;
	sha256_end(hash, ret_digest);
	return 0;
}

static int
json_member(const json_t *obj, const char *key, json_t **ret, struct error *err)
{
	if (!json_is_object(obj))
		return error_set(err, -EINVAL, "not an object where " JSON_KEY_SHOWN " is needed",
				 key);
	*ret = json_object_get(obj, key);
	if (*ret == NULL)
		return error_set(err, -ENOENT, JSON_KEY_SHOWN " is missing", key);
	return 0;
}

static int
json_wrong_type(const char *key, const char *type, struct error *err)
{
	return error_set(err, -EINVAL, JSON_KEY_SHOWN " is not %s", key, type);
}

int
json_get_text(const json_t *obj, const char *key, const char **ret_text, struct error *err)
{
	json_t *v = NULL;
	int r;

	r = json_member(obj, key, &v, err);
	if (r < 0)
		return r;
	/* As a C string it must be the whole string. */
	if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
		return json_wrong_type(key, "a text", err);
	*ret_text = json_string_value(v);
	return 0;
}

int
json_get_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t *ret,
	     struct error *err)
{
	json_t *v = NULL;
	int r;

	r = json_member(obj, key, &v, err);
	if (r < 0)
		return r;
	if (!json_is_integer(v))
		return json_wrong_type(key, "an integer", err);
	if (json_integer_value(v) < min || json_integer_value(v) > max)
		return error_set(err, -ERANGE, JSON_KEY_SHOWN " is not between %lld and %lld", key,
				 (long long)min, (long long)max);
	*ret = json_integer_value(v);
	return 0;
}

int
json_get_bool(const json_t *obj, const char *key, bool *ret, struct error *err)
{
	json_t *v = NULL;
	int r;

	r = json_member(obj, key, &v, err);
	if (r < 0)
		return r;
	if (!json_is_boolean(v))
		return json_wrong_type(key, "true or false", err);
	*ret = json_is_true(v);
	return 0;
}

int
json_get_object(const json_t *obj, const char *key, json_t **ret, struct error *err)
{
	json_t *v = NULL;
	int r;

	r = json_member(obj, key, &v, err);
	if (r < 0)
		return r;
	if (!json_is_object(v))
		return json_wrong_type(key, "an object", err);
	*ret = v;
	return 0;
}

int
json_get_array(const json_t *obj, const char *key, json_t **ret, struct error *err)
{
	json_t *v = NULL;
	int r;

	r = json_member(obj, key, &v, err);
	if (r < 0)
		return r;
	if (!json_is_array(v))
		return json_wrong_type(key, "a list", err);
	*ret = v;
	return 0;
}

int
json_only_keys(const json_t *obj, const char *const *keys, struct error *err)
{
	const char *key;
	json_t *child;

	if (!json_is_object(obj))
		return error_set(err, -EINVAL, "not an object");
	json_object_foreach(json_mutable(obj), key, child)
	{
		size_t i = 0;

		(void)child;
		while (keys[i] != NULL && strcmp(keys[i], key) != 0)
			i++;
		if (keys[i] == NULL)
			return error_set(err, -EINVAL, "unknown key " JSON_KEY_SHOWN, key);
	}
	return 0;
}

json_t *
json_escaped(const void *bytes, size_t len)
{
	CLEANUP(buf_fini) struct buf out = {0};
	const uint8_t *p = bytes;

	buf_init(&out, len < SIZE_MAX / 4 ? 4 * len : SIZE_MAX);
	while (len > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(p, len, &c);

		if (n == 0 || utf8_is_control(c)) {
			n = n > 0 ? n : 1;
			text_hex_escape(p, n, &out);
		} else if (c == '\\') {
			buf_str(&out, "\\\\");
		} else {
			buf_add(&out, p, n);
		}
		p += n;
		len -= n;
	}
	return out.failed ? NULL : json_stringn(out.data, out.len);
}
