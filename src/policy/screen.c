/*
 * One pass over the characters, counting lines and columns as it goes. It knows nothing of quotes
 * and comments: what is refused here is refused everywhere in a file.
 */
#include "policy/screen.h"

#include <errno.h>

#include "base/text.h"

#define MARKS_OPEN_MAX 1000 /* brackets that are open at one time */
#define MARKS_MAX 200000    /* brackets that open, commas and colons */

const char *
screen_char(uint32_t c)
{
	if (c == '\n')
		return NULL;
	if (c == '\t')
		return "a tab; indent and separate with spaces";
	if (c == '\r')
		return "a carriage return; end lines with a line feed alone";
	if (utf8_is_control(c))
		return "a control character; remove it";
	if (c == 0xfeff)
		return "a byte order mark; write UTF-8 without one";
	if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
	    c == 0x200f || c == 0x061c)
		return "a character that changes the direction of text; remove it";
	if (c == 0x2028 || c == 0x2029)
		return "a line or paragraph separator; end lines with a line feed";
	if ((c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef))
		return "a code point that is no character; remove it";
	return NULL;
}

/*
 * The library reads ahead to the end of a bracket that may turn out to be a key, half a kilobyte a
 * token. So brackets and separators are counted before it sees them, quoted ones too: no document
 * that is meant comes near.
 */
struct marks {
	uint32_t open, all;
};

static const char *
marks_wrong(struct marks *m, uint32_t c)
{
	m->open += c == '[' || c == '{';
	m->open -= m->open > 0 && (c == ']' || c == '}');
	m->all += c == '[' || c == '{' || c == ',' || c == ':';
	if (m->open > MARKS_OPEN_MAX)
		return "far more levels of nesting than may be";
	if (m->all > MARKS_MAX)
		return "more brackets, commas and colons than any document has; split it";
	return NULL;
}

int
screen_bytes(const struct yaml *y, const char *data, size_t len, struct error *err)
{
	struct yaml_position at = {.line = 1, .column = 1};
	struct marks marks = {0};
	bool blank = true;

	if (len > YAML_BYTES_MAX)
		return error_set(err, -EMSGSIZE, "%s: %zu bytes; at most %d are read", yaml_file(y),
				 len, YAML_BYTES_MAX);
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = utf8_next(data + i, len - i, &c);
		const char *wrong =
			n > 0 ? screen_char(c) : "bytes that are not UTF-8; write UTF-8";

		if (wrong == NULL)
			wrong = marks_wrong(&marks, c);
		if (wrong != NULL)
			return yaml_error(y, at, err, "found %s", wrong);
		/* Of no other line that is accepted is this the first character. */
		if (c == '%' && at.column == 1)
			return yaml_error(y, at, err,
					  "found a directive; leave it out, this is "
					  "YAML 1.2");
		blank = blank && (c == ' ' || c == '\n');
		at.column++;
		if (c == '\n')
			at = (struct yaml_position){.line = at.line + 1, .column = 1};
		i += n;
	}
	if (blank)
		return yaml_error(y, (struct yaml_position){1, 1}, err,
				  "found an empty file; a document is due");
	return 0;
}
