/* probe.h: the shape of its answer, that it sees what is missing, and that nothing stays. Needs
 * root. */
#include "box_layers.h"

#include "base/json.h"
#include "box/owner.h"
#include "box/probe.h"

static json_t *
probe_of(const struct world *w)
{
	const struct probe_in in = {.state = w->path, .workspace = w->workspace_path};
	struct error err = {0};
	struct buf out;
	json_t *v;

	buf_init(&out, 1u << 20);
	assert_ok(probe_run(&in, &out, &err));
	assert_ok(json_read_canonical(out.data, out.len, &v, &err));
	buf_fini(&out);
	return v;
}

static const json_t *
check_of(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);

		if (strcmp(json_string_value(json_object_get(c, "check")), name) == 0)
			return c;
	}
	fail_msg("no check %s", name);
	return NULL;
}

static bool
works(const json_t *list, const char *name)
{
	return json_is_true(json_object_get(check_of(list, name), "works"));
}

static int
count_probes(void *arg, const char *name, unsigned char type, struct error *err)
{
	*(int *)arg += strncmp(name, ".probe", 6) == 0;
	return 0;
}

static void
each_check_says_what_it_saw_or_how_to_mend_it(void **state)
{
	struct world w;
	struct error err = {0};
	json_t *list;
	int left = 0, fd;

	unit_skip_under_valgrind();
	world_open(&w);
	list = probe_of(&w);
	assert_true(json_array_size(list) >= 20);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		const char *fix = json_string_value(json_object_get(c, "fix"));

		assert_int_equal(json_object_size(c), 5);
		assert_non_null(json_string_value(json_object_get(c, "check")));
		assert_true(json_string_length(json_object_get(c, "detail")) > 0);
		assert_int_equal(fix[0] == '\0', json_is_true(json_object_get(c, "works")));
		assert_true(json_is_array(json_object_get(c, "needed_by")));
	}
	/* Not known to fail anywhere these tests run as root. */
	assert_true(works(list, "no-new-privs") && works(list, "sealed-memfd") &&
		    works(list, "openat2"));
	json_decref(list);
	fd = openat(w.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(owner_list(fd, count_probes, &left, &err));
	assert_int_equal(left, 0);
	(void)close(fd);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left either */
	world_close(&w);
}

/* Run FN in a child with a mount namespace of its own. */
static void
in_mounts(struct world *w, void (*fn)(struct world *w))
{
	int status;
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid == 0) {
		IN(unshare(CLONE_NEWNS) == 0 &&
		   mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
		fn(w);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
}

static void
masked_proc(struct world *w)
{
	json_t *list = probe_of(w);

	IN(works(list, "pid-namespace"));
	json_decref(list);
	IN(mount("/dev/null", "/proc/keys", "none", MS_BIND, "") == 0);
	list = probe_of(w);
	IN(!works(list, "pid-namespace"));
	IN(strstr(json_string_value(json_object_get(check_of(list, "pid-namespace"), "detail")),
		  "masked") != NULL);
	IN(works(list, "net-namespace"));
	json_decref(list);
}

/* A container with its runtime's defaults has parts of /proc covered. */
static void
a_masked_proc_is_found(void **state)
{
	struct world w;

	unit_skip_under_valgrind();
	world_open(&w);
	in_mounts(&w, masked_proc);
	world_close(&w);
}

static void
poor_file_system(struct world *w)
{
	json_t *list;

	IN(mount("none", w->path, "ramfs", 0, "") == 0);
	list = probe_of(w);
	IN(!works(list, "kept-changes") && !works(list, "idmapped-state"));
	IN(works(list, "seccomp"));
	json_decref(list);
}

static void
a_poor_file_system_is_found(void **state)
{
	struct world w;

	unit_skip_under_valgrind();
	world_open(&w);
	in_mounts(&w, poor_file_system);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_check_says_what_it_saw_or_how_to_mend_it),
		cmocka_unit_test(a_masked_proc_is_found),
		cmocka_unit_test(a_poor_file_system_is_found),
	};

	return needs_root() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
