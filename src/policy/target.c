/*
 * Everything is judged as text and nothing is resolved. A host whose last label is a number in any
 * spelling is an address to some resolver (2852039166, 0x7f.1), so it is none to us.
 */
#include "policy/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define LABEL_MAX 63

static bool
is_host_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static const char *
label_wrong(const char *label, size_t len)
{
	if (len == 0)
		return "it has an empty label";
	if (len > LABEL_MAX)
		return "a label has more than 63 characters";
	if (label[0] == '-' || label[len - 1] == '-')
		return "a label starts or ends with '-'";
	for (size_t i = 0; i < len; i++) {
		if (label[i] >= 'A' && label[i] <= 'Z')
			return "it has upper case; write host names in lower case";
		if (label[i] == '*')
			return "'*' stands for whole labels at the start, as in *.example.org";
		if (!is_host_char(label[i]))
			return "it has a character that no host name has (write IDNs as xn--…)";
	}
	return NULL;
}

static bool
label_is_number(const char *label, size_t len)
{
	if (len > 1 && label[0] == '0' && label[1] == 'x')
		return true;
	for (size_t i = 0; i < len; i++)
		if (label[i] < '0' || label[i] > '9')
			return false;
	return true;
}

const char *
host_wrong(const char *host, size_t len)
{
	static const char LOCAL[] = "localhost";
	size_t start = 0, last = 0;
	const char *wrong;

	if (len == 0)
		return "it is empty";
	if (len > HOST_MAX)
		return "it has more than 253 characters";
	if (memchr(host, ':', len) != NULL)
		return "it has a colon; a host has no port, scheme or IPv6 address";
	for (size_t i = 0; i <= len; i++) {
		if (i < len && host[i] != '.')
			continue;
		wrong = label_wrong(host + start, i - start);
		if (wrong != NULL)
			return wrong;
		last = start;
		start = i + 1;
	}
	if (label_is_number(host + last, len - last))
		return "it is an address; name the host (private answers are allowed by "
		       "'addresses')";
	if (len - last == sizeof(LOCAL) - 1 && memcmp(host + last, LOCAL, len - last) == 0)
		return "it is the machine itself, which is never allowed";
	return NULL;
}

/* Bytes of the wildcard before the host: 0, "*." or "**." */
static size_t
wildcard_len(const char *pattern, size_t len)
{
	if (len >= 3 && memcmp(pattern, "**.", 3) == 0)
		return 3;
	return len >= 2 && memcmp(pattern, "*.", 2) == 0 ? 2 : 0;
}

const char *
host_pattern_wrong(const char *pattern, size_t len)
{
	size_t wild = wildcard_len(pattern, len);

	if (len == 1 && (pattern[0] == '*' || pattern[0] == '.'))
		return "it would be every host; name them, as in *.example.org";
	if (len == 2 && memcmp(pattern, "**", 2) == 0)
		return "it would be every host; name them, as in *.example.org";
	if (wild > 0 && len > wild && memchr(pattern + wild, '.', len - wild) == NULL)
		return "it would be every host of a top-level domain; name at least two labels";
	return host_wrong(pattern + wild, len - wild);
}

bool
host_pattern_match(const char *pattern, const char *host)
{
	size_t wild = wildcard_len(pattern, strlen(pattern));
	size_t tail = strlen(pattern + wild), len = strlen(host);

	if (wild == 0)
		return strcmp(pattern, host) == 0;
	/* A label and its dot before the tail. */
	if (len < tail + 2 || strcmp(host + len - tail, pattern + wild) != 0 ||
	    host[len - tail - 1] != '.')
		return false;
	return wild == 3 || memchr(host, '.', len - tail - 1) == NULL;
}

const char *
method_wrong(const char *method, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (method[i] >= 'a' && method[i] <= 'z')
			return "methods are case-sensitive; write it in upper case";
		if ((method[i] < 'A' || method[i] > 'Z') && method[i] != '-')
			return "it is no HTTP method";
	}
	if (len == 7 && memcmp(method, "CONNECT", 7) == 0)
		return "CONNECT is a capability of its own, net.connect";
	return len > 0 ? NULL : "it is empty";
}

const char *
header_wrong(const char *name, size_t len)
{
	static const char *const NEVER[] = {
		"Host",	   "Connection", "Content-Length", "Transfer-Encoding",
		"Upgrade", "Te",	 "Trailer"};

	for (size_t i = 0; i < len; i++)
		if (!(name[i] >= 'a' && name[i] <= 'z') && !(name[i] >= 'A' && name[i] <= 'Z') &&
		    !(name[i] >= '0' && name[i] <= '9') && name[i] != '-')
			return "it is no header's name";
	for (size_t i = 0; i < ARRAY_LEN(NEVER); i++)
		if (strlen(NEVER[i]) == len && strncasecmp(NEVER[i], name, len) == 0)
			return "it is a header that frames the message";
	return NULL;
}

/* ---- address ranges ------------------------------------------------------------------------ */

struct range {
	int family;
	uint8_t bytes[16];
	unsigned int bits;
};

/* Whatever a profile says, a name never leads there. */
static const struct range RANGE_NEVER[] = {
	{AF_INET, {0}, 8},	   /* this network */
	{AF_INET, {127}, 8},	   /* loopback */
	{AF_INET, {169, 254}, 16}, /* link-local: metadata services */
	{AF_INET, {224}, 3},	   /* multicast and reserved */
	{AF_INET6, {0}, 96},	   /* ::, ::1 and IPv4-compatible */
	{AF_INET6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, /* IPv4-mapped */
	{AF_INET6, {0xfd, 0x00, 0x0e, 0xc2}, 32},		    /* metadata services */
	{AF_INET6, {0xfe, 0x80}, 10},				    /* link-local */
	{AF_INET6, {0xff}, 8},					    /* multicast */
};

static bool
bits_equal(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	for (unsigned int i = 0; i < bits; i++)
		if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

static bool
range_parse(const char *text, size_t len, struct range *ret)
{
	char copy[INET6_ADDRSTRLEN + 8];
	char back[INET6_ADDRSTRLEN];
	char *slash;
	uint64_t bits;

	if (len >= sizeof(copy) || memchr(text, '\0', len) != NULL)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	slash = strchr(copy, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	ret->family = strchr(copy, ':') != NULL ? AF_INET6 : AF_INET;
	if (inet_pton(ret->family, copy, ret->bytes) != 1 ||
	    decimal_parse(slash + 1, ret->family == AF_INET ? 32 : 128, &bits) < 0)
		return false;
	ret->bits = (unsigned int)bits;
	/* One spelling, so that two ranges can be compared as text. */
	return inet_ntop(ret->family, ret->bytes, back, sizeof(back)) != NULL &&
	       strcmp(back, copy) == 0;
}

const char *
cidr_wrong(const char *cidr, size_t len)
{
	struct range r = {0};
	unsigned int size;

	if (!range_parse(cidr, len, &r))
		return "it is no address range such as 10.20.0.0/16 or fd00:1::/32";
	size = r.family == AF_INET ? 32 : 128;
	for (unsigned int i = r.bits; i < size; i++)
		if ((r.bytes[i / 8] >> (7 - i % 8) & 1) != 0)
			return "it has bits set beyond its prefix";
	for (size_t i = 0; i < ARRAY_LEN(RANGE_NEVER); i++) {
		const struct range *n = &RANGE_NEVER[i];

		if (n->family == r.family &&
		    bits_equal(n->bytes, r.bytes, n->bits < r.bits ? n->bits : r.bits))
			return "it has loopback, link-local, metadata or multicast addresses in "
			       "it, "
			       "which are never allowed";
	}
	return NULL;
}

/* ---- URLs ---------------------------------------------------------------------------------- */

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool
is_unreserved(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/* An escape at TEXT, appended in its one spelling. Bytes written, 0 when it may not be. */
static size_t
path_escape(const char *text, size_t len, char *out)
{
	int high = len >= 3 ? hex_value(text[1]) : -1, low = len >= 3 ? hex_value(text[2]) : -1;
	int c = high * 16 + low;

	if (high < 0 || low < 0 || c < 0x20 || c == 0x7f || c == '/' || c == '\\')
		return 0;
	if (is_unreserved(c)) {
		out[0] = (char)c;
		return 1;
	}
	out[0] = '%';
	out[1] = "0123456789ABCDEF"[high];
	out[2] = "0123456789ABCDEF"[low];
	return 3;
}

static bool
segment_bad(const char *s, size_t len, bool last)
{
	if (len == 0)
		return !last;
	return (len == 1 && s[0] == '.') || (len == 2 && s[0] == '.' && s[1] == '.');
}

int
url_path(const char *text, size_t len, char out[URL_PATH_MAX], struct error *err)
{
	size_t n = 0, start = 1;

	if (len == 0 || text[0] != '/')
		return error_set(err, -EINVAL, "a path starts with '/'");
	for (size_t i = 0; i < len && text[i] != '?';) {
		size_t got = 1;

		if (n + 4 > URL_PATH_MAX)
			return error_set(err, -EINVAL, "a path of more than %d bytes",
					 URL_PATH_MAX - 1);
		if (text[i] == '%')
			got = path_escape(text + i, len - i, out + n);
		else
			out[n] = text[i];
		if (got == 0)
			return error_set(err, -EINVAL,
					 "a path with an escaped slash, backslash or "
					 "control character, or a broken escape");
		if (text[i] <= ' ' || text[i] == 0x7f || text[i] == '\\' || text[i] == '#')
			return error_set(err, -EINVAL,
					 "a path with a blank, control character, "
					 "backslash, '#' or byte outside ASCII");
		i += text[i] == '%' ? 3 : 1;
		n += got;
	}
	out[n] = '\0';
	for (size_t i = 1; i <= n; i++) {
		if (i < n && out[i] != '/')
			continue;
		if (segment_bad(out + start, i - start, i == n))
			return error_set(err, -EINVAL, "a path with an empty, '.' or '..' segment");
		start = i + 1;
	}
	return 0;
}

static int
authority_parse(const char *text, size_t len, struct url *u, struct error *err)
{
	const char *colon = memchr(text, ':', len);
	size_t host_len = colon != NULL ? (size_t)(colon - text) : len;
	char port[8];
	const char *wrong;
	uint64_t v;

	if (memchr(text, '@', len) != NULL)
		return error_set(err, -EINVAL, "a URL with a user in it");
	if (host_len > HOST_MAX)
		return error_set(err, -EINVAL, "a host of more than %d characters", HOST_MAX);
	for (size_t i = 0; i < host_len; i++)
		u->host[i] =
			text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
	u->host[host_len] = '\0';
	wrong = host_wrong(u->host, host_len);
	if (wrong != NULL)
		return error_set(err, -EINVAL, "a host that may not be: %s", wrong);
	u->port = u->https ? 443 : 80;
	if (colon == NULL)
		return 0;
	if (len - host_len - 1 >= sizeof(port))
		return error_set(err, -EINVAL, "a port that is none");
	memcpy(port, colon + 1, len - host_len - 1);
	port[len - host_len - 1] = '\0';
	if (decimal_parse(port, UINT16_MAX, &v) < 0 || v == 0)
		return error_set(err, -EINVAL, "a port that is none");
	u->port = (uint16_t)v;
	return 0;
}

int
url_parse(const char *text, size_t len, struct url *ret, struct error *err)
{
	static const char HTTP[] = "http://", HTTPS[] = "https://";
	size_t start, end;
	int r;

	ret->https = len >= sizeof(HTTPS) - 1 && strncasecmp(text, HTTPS, sizeof(HTTPS) - 1) == 0;
	start = ret->https ? sizeof(HTTPS) - 1 : sizeof(HTTP) - 1;
	if (!ret->https && (len < start || strncasecmp(text, HTTP, start) != 0))
		return error_set(err, -EINVAL, "a URL that is neither https:// nor http://");
	for (end = start; end < len && strchr("/?#", text[end]) == NULL; end++)
		;
	r = authority_parse(text + start, end - start, ret, err);
	if (r < 0)
		return r;
	if (end == len || text[end] == '?') {
		(void)snprintf(ret->path, sizeof(ret->path), "/");
		return 0;
	}
	return url_path(text + end, len - end, ret->path, err);
}

const char *
repository_wrong(const char *text, size_t len)
{
	struct url u;
	char back[HOST_MAX + URL_PATH_MAX + 32];
	char port[8] = "";

	if (url_parse(text, len, &u, NULL) < 0 || !u.https)
		return "it is no https:// URL of a repository";
	if (strcmp(u.path, "/") == 0 || u.path[strlen(u.path) - 1] == '/')
		return "it names no repository on its host, or ends in a slash";
	if (u.port != 443)
		(void)snprintf(port, sizeof(port), ":%u", u.port);
	(void)snprintf(back, sizeof(back), "https://%s%s%s", u.host, port, u.path);
	if (strlen(back) != len || memcmp(back, text, len) != 0)
		return "it is not in its plain spelling: lower-case host, no default port, no "
		       "query, "
		       "no needless escapes";
	return NULL;
}
