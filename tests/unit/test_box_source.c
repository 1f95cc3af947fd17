/* source.h: which directories may be shown, by every name the host has for them. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "box/source.h"

static const char table[] = "20 1 254:0 / / rw - ext4 /dev/a rw\n"
			    "21 20 0:5 / /proc rw - proc proc rw\n"
			    "22 20 254:1 / /data rw - ext4 /dev/b rw\n"
			    "30 20 254:0 /etc /srv/b1 rw - ext4 /dev/a rw\n"
			    "31 20 254:0 /etc/ssl /srv/b2 rw - ext4 /dev/a rw\n"
			    "32 20 254:0 /opt/tools /srv/b3 rw - ext4 /dev/a rw\n"
			    "33 20 254:1 /x/private /etc/ssl/private rw - ext4 /dev/b rw\n"
			    "34 20 254:0 / /srv/all rw - ext4 /dev/a rw\n"
			    "35 20 254:0 /home/me/.ssh /srv/a\\040b rw - ext4 /dev/a rw\n"
			    "36 20 254:0 /opt/tree /srv/tree rw - ext4 /dev/a rw\n"
			    "37 36 254:1 /y /srv/tree/sub rw - ext4 /dev/b rw\n";

static int
judge(unsigned long long id, const char *path)
{
	struct error err = {0};
	char text[sizeof(table)];

	memcpy(text, table, sizeof(table));
	return source_judge_in(text, id, path, &err);
}

static void
a_directory_is_judged_by_all_its_names(void **state)
{
	assert_int_equal(judge(20, "/opt/tools"), 0);
	assert_int_equal(judge(32, "/srv/b3"), 0);
	assert_int_equal(judge(32, "/srv/b3/bin"), 0);
	assert_int_equal(judge(22, "/data/y"), 0);
	/* /etc/ssl and its keys, however they are called. */
	assert_int_equal(judge(30, "/srv/b1"), -EACCES);
	assert_int_equal(judge(22, "/data/x/private"), -EACCES);
	assert_int_equal(judge(22, "/data/x/private/deep"), -EACCES);
	assert_int_equal(judge(34, "/srv/all"), -EACCES);
	assert_int_equal(judge(34, "/srv/all/root/.aws"), -EACCES);
	assert_int_equal(judge(34, "/srv/all/opt/tools"), 0);
	assert_int_equal(judge(35, "/srv/a b"), -EACCES);
	/* What contains a mount, and what lies on none that is known. */
	assert_int_equal(judge(36, "/srv/tree"), -EXDEV);
	assert_int_equal(judge(37, "/srv/tree/sub"), 0);
	assert_int_equal(judge(99, "/opt/tools"), -EACCES);
	assert_int_equal(judge(32, "/opt/tools"), -EACCES);
}

static void
a_list_that_cannot_be_read_shows_nothing(void **state)
{
	char cut[] = "20 1 254:0 / /\n30 20 254:0\n";
	struct error err = {0};

	assert_int_equal(source_judge_in(cut, 20, "/opt", &err), -EBADMSG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_is_judged_by_all_its_names),
		cmocka_unit_test(a_list_that_cannot_be_read_shows_nothing),
	};

	return cmocka_run_group_tests_name("box_source", tests, NULL, NULL);
}
