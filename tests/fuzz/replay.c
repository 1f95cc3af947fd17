/* Run the target once over every file of a corpus directory, and over no input at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#include "fuzz.h"

#define REPLAY_FILE_MAX (1 << 20)

/* On the heap at its exact size, so that reading past the end is seen by the sanitizers. */
static void
replay_bytes(const void *bytes, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	FUZZ_CHECK(copy != NULL);
	if (len > 0)
		memcpy(copy, bytes, len);
	(void)LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

int
main(int argc, char **argv)
{
	CLEANUP(buf_fini) struct buf content = {0};
	struct error err = {0};
	unsigned int count = 0;
	struct dirent *entry;
	DIR *dir;

	if (argc != 2 || (dir = opendir(argv[1])) == NULL) {
		(void)fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 2;
	}
	replay_bytes(NULL, 0);
	buf_init(&content, REPLAY_FILE_MAX);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		buf_reset(&content);
		if (fd_read_file_at(dirfd(dir), entry->d_name, &content, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		replay_bytes(content.data, content.len);
		count++;
	}
	(void)closedir(dir);
	(void)printf("%u inputs replayed\n", count);
	/* An empty corpus would pass for ever without testing anything. */
	return count > 0 ? 0 : 1;
}
