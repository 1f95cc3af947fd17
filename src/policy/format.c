/*
 * A table from formats to checks. A check gives the sentence that says what is wrong, or NULL; the
 * pattern beside it is for editors only and may be wider than the check.
 */
#include "policy/format.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "model/ids.h"
#include "model/profile.h"
#include "policy/glob.h"
#include "policy/target.h"

#define TEXT_MAX 4096

static const char *
root_wrong(const char *text, size_t len)
{
	return profile_root_valid(text)
		       ? NULL
		       : "it is neither 'host' nor image:NAME@sha256:<64 hex digits>";
}

static const char *
path_wrong(const char *text, size_t len)
{
	return path_absolute_check(text, NULL) == 0 ? NULL
						    : "it is no absolute path in its plain "
						      "spelling (/a/b: no '//', '.', '..', no "
						      "slash at the end)";
}

static const char *
mount_host_wrong(const char *text, size_t len)
{
	const char *wrong = path_wrong(text, len);

	return wrong != NULL ? wrong : profile_mount_host_refused(text);
}

static const char *
mount_at_wrong(const char *text, size_t len)
{
	const char *wrong = path_wrong(text, len);

	return wrong != NULL ? wrong : profile_mount_at_refused(text);
}

static const char *
glob_wrong(const char *text, size_t len)
{
	uint16_t tokens[GLOB_MAX];
	int n;

	if (len > GLOB_MAX)
		return "it is too long";
	n = glob_compile(text, len, tokens);
	if (n == -EINVAL)
		return "'**' stands for whole segments, as in /a/** or **/b";
	if (n < 0)
		return "it is too long";
	for (size_t i = 0; i < len; i++)
		if ((text[i] & 0x80) != 0)
			return "it has a character outside ASCII; write it as it is on the wire";
	return NULL;
}

static const char *
segments_wrong(const char *text)
{
	const char *p = text + (text[0] == '/');

	for (;;) {
		size_t n = strcspn(p, "/");

		if (n == 0 && p[n] == '/')
			return "it has an empty segment";
		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return "it has a '.' or '..' segment";
		if (p[n] == '\0')
			return NULL;
		p += n + 1;
	}
}

static const char *
url_glob_wrong(const char *text, size_t len)
{
	if (text[0] != '/')
		return "it does not start with '/'";
	if (strpbrk(text, "?#\\ ") != NULL)
		return "it has a query, fragment, backslash or blank; only the path is matched";
	if (segments_wrong(text) != NULL)
		return segments_wrong(text);
	return glob_wrong(text, len);
}

static const char *
tree_glob_wrong(const char *text, size_t len)
{
	uint16_t tokens[GLOB_MAX];

	if (text[0] == '/')
		return "it starts with '/'; paths here are relative";
	if (len > 0 && text[len - 1] == '/')
		return "it ends with '/'; write '/**' for what is beneath a directory";
	if (segments_wrong(text) != NULL)
		return segments_wrong(text);
	if (len > GLOB_MAX)
		return "it is too long";
	return glob_compile(text, len, tokens) >= 0
		       ? NULL
		       : "'**' stands for whole segments, as in a/** or **/b";
}

/* git-check-ref-format(1), narrowed to branches. */
static const char *
ref_glob_wrong(const char *text, size_t len)
{
	static const char HEADS[] = "refs/heads/";

	if (strncmp(text, HEADS, sizeof(HEADS) - 1) != 0 || len == sizeof(HEADS) - 1)
		return "it is not beneath refs/heads/";
	if (strcmp(text + sizeof(HEADS) - 1, "**") == 0 ||
	    strcmp(text + sizeof(HEADS) - 1, "*") == 0)
		return "it would be every branch, the default one too; name a part of them, as in "
		       "refs/heads/feature/**";
	if (strpbrk(text, " ~^:?[\\") != NULL || strstr(text, "@{") != NULL ||
	    strstr(text, "..") != NULL || text[len - 1] == '.' || strstr(text, ".lock") != NULL)
		return "it has something that no ref may have";
	if (text[len - 1] == '/')
		return "it ends with '/'";
	if (segments_wrong(text) != NULL)
		return segments_wrong(text);
	return glob_wrong(text, len);
}

static const char *
inject_wrong(const char *text, size_t len)
{
	const char *at = strstr(text, "{secret}");

	if (at == NULL || strstr(at + 1, "{secret}") != NULL)
		return "it does not have {secret} in it exactly once";
	for (size_t i = 0; i < len; i++)
		if ((text[i] & 0x80) != 0)
			return "it has a character outside ASCII";
	return NULL;
}

static const char *
argument_wrong(const char *text, size_t len)
{
	return len > 0 ? NULL : "it is empty";
}

static const char *
person_wrong(const char *text, size_t len)
{
	static const char GROUP[] = "group:";

	if (strncmp(text, GROUP, sizeof(GROUP) - 1) == 0)
		text += sizeof(GROUP) - 1;
	return name_valid(text) ? NULL : "it is neither an identity's name nor group:NAME";
}

struct format_row {
	const char *(*wrong)(const char *text, size_t len);
	const char *pattern;
};
static const struct format_row FORMATS[] = {
	[FORMAT_NONE] = {NULL, NULL},
	[FORMAT_ROOT] = {root_wrong, "^(host|image:[a-z0-9][a-z0-9._-]*@sha256:[0-9a-f]{64})$"},
	[FORMAT_MOUNT_HOST] = {mount_host_wrong, "^/."},
	[FORMAT_MOUNT_AT] = {mount_at_wrong, "^/."},
	[FORMAT_PATH] = {path_wrong, "^/"},
	[FORMAT_HOST] = {host_wrong, "^[a-z0-9_-]+(\\.[a-z0-9_-]+)*$"},
	[FORMAT_HOSTS] = {host_pattern_wrong, "^(\\*{1,2}\\.)?[a-z0-9_-]+(\\.[a-z0-9_-]+)*$"},
	[FORMAT_CIDR] = {cidr_wrong, "^[0-9a-f:.]+/[0-9]{1,3}$"},
	[FORMAT_METHOD] = {method_wrong, "^[A-Z-]+$"},
	[FORMAT_URL_GLOB] = {url_glob_wrong, "^/"},
	[FORMAT_TREE_GLOB] = {tree_glob_wrong, "^[^/]"},
	[FORMAT_REF_GLOB] = {ref_glob_wrong, "^refs/heads/."},
	[FORMAT_REPOSITORY] = {repository_wrong, "^https://[^/]+/."},
	[FORMAT_HEADER] = {header_wrong, "^[A-Za-z0-9-]+$"},
	[FORMAT_INJECT] = {inject_wrong, "\\{secret\\}"},
	[FORMAT_ARGUMENT] = {argument_wrong, NULL},
	[FORMAT_PERSON] = {person_wrong, "^(group:)?[a-z0-9][a-z0-9._-]*$"},
};

int
format_check(enum field_format format, const char *text, size_t len, struct error *err)
{
	const char *wrong;

	if ((unsigned int)format >= ARRAY_LEN(FORMATS))
		return error_set(err, -EINVAL, "a format that is none");
	if (FORMATS[format].wrong == NULL)
		return 0;
	if (len > TEXT_MAX)
		return error_set(err, -EINVAL, "found %zu bytes of text; it is too long", len);
	wrong = FORMATS[format].wrong(text, len);
	if (wrong == NULL)
		return 0;
	return error_set(err, -EINVAL, "found '%s'; %s", field_show(text, len).text, wrong);
}

const char *
format_pattern(enum field_format format)
{
	return (unsigned int)format < ARRAY_LEN(FORMATS) ? FORMATS[format].pattern : NULL;
}
