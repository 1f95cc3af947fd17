/*
 * The published schema and the reader's table are held together: every key of one is in the other,
 * with its bounds and default; and a validator nobody here wrote takes what the reader takes and
 * refuses what it refuses for its keys, types and words.
 */
#include "unit.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "policy/policy.h"
#include "policy/yaml.h"

static json_t *
schema(void)
{
	struct error err = {0};
	struct buf b;
	json_t *s;

	buf_init(&b, 4 << 20);
	assert_ok(policy_schema(&b, &err));
	s = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
	buf_fini(&b);
	assert_non_null(s);
	return s;
}

static size_t seen; /* fields that were compared */

static void
compare_words(const struct field *f, const json_t *s)
{
	const json_t *words = json_object_get(s, "enum");
	size_t i = 0;

	for (; f->words[i] != NULL; i++)
		assert_string_equal(json_string_value(json_array_get(words, i)), f->words[i]);
	assert_int_equal(json_array_size(words), i);
}

static void
compare(const struct field *f, const json_t *s)
{
	const json_t *properties = json_object_get(s, "properties");
	size_t n = 0;

	seen++;
	assert_non_null(s);
	assert_string_equal(json_string_value(json_object_get(s, "description")), f->about);
	assert_true(strlen(f->about) > 3);
	switch (f->type) {
	case FIELD_OBJECT:
		assert_true(json_is_false(json_object_get(s, "additionalProperties")));
		for (const struct field *m = f->members; m->key != NULL; m++, n++) {
			size_t i;
			json_t *key;
			bool required = false;

			compare(m, json_object_get(properties, m->key));
			json_array_foreach(json_object_get(s, "required"), i, key) required |=
				strcmp(json_string_value(key), m->key) == 0;
			assert_int_equal(required, (m->flags & FIELD_REQUIRED) != 0);
		}
		assert_int_equal(json_object_size(properties), n);
		break;
	case FIELD_LIST:
		compare(&f->members[0], json_object_get(s, "items"));
		assert_int_equal(json_integer_value(json_object_get(s, "maxItems")), f->max);
		break;
	case FIELD_BITS:
		compare_words(f, json_object_get(s, "items"));
		break;
	case FIELD_WORD:
	case FIELD_ENUM:
		compare_words(f, s);
		break;
	case FIELD_INT:
		assert_int_equal(json_integer_value(json_object_get(s, "minimum")), f->min);
		assert_int_equal(json_integer_value(json_object_get(s, "maximum")), f->max);
		break;
	case FIELD_TEXT:
	case FIELD_NAME:
		assert_true(json_object_get(s, "pattern") != NULL || f->format == FORMAT_NONE ||
			    f->format == FORMAT_ARGUMENT || f->format == FORMAT_ROOT);
		break;
	default:
		break;
	}
	/* A default of the schema is the table's, in its written form. */
	if (f->fallback != NULL && json_is_string(json_object_get(s, "default")))
		assert_string_equal(json_string_value(json_object_get(s, "default")), f->fallback);
	if (f->fallback != NULL)
		assert_non_null(json_object_get(s, "default"));
}

static void
every_key(void **state)
{
	CLEANUP(json_decrefp) json_t *s = schema();

	compare(&PROFILE_FIELDS, s);
	assert_true(seen > 100);
	assert_string_equal(json_string_value(json_object_get(s, "$schema")),
			    "https://json-schema.org/draft/2020-12/schema");
}

/* ---- the other validator -----------------------------------------------------------------------
 */

#define HEAD "apiVersion: loom/v1\nkind: Profile\nmetadata: {name: x}\nspec:\n  capabilities: []\n"
static const char *const GOOD[] = {
	HEAD,
	HEAD "  limits: {cpu: 0.5, memory: 2GiB, pids: 64, timeout: 30m, output: 4096}\n",
	HEAD "  filesystem: {root: {image: \"a@sha256:"
	     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}\n",
	HEAD "  filesystem: {workspace: {at: host, max: 64MiB}}\n",
	HEAD "  filesystem: {readOnly: [{host: /opt/a, at: /opt/a}]}\n  env: {A_1: \"\"}\n"
	     "  debug: ptrace\n",
	HEAD "  credentials: [{name: a, source: {command: [/bin/a, b]}, inject: {header: X}, "
	     "to: [{host: a.example, methods: [GET], paths: [\"/**\"]}], lease: {maxUses: 3}}]\n",
	HEAD "  git: [{repository: \"https://a.example/b\", fetch: allow, push: {refs: "
	     "[refs/heads/a/**], protectedPaths: [\"**/x\"]}}]\n",
	HEAD "  network: {egress: [{id: a, hosts: [\"*.a.example\"], addresses: [10.0.0.0/8], "
	     "tls: passthrough}]}\n",
	HEAD "  rules: [{id: a, effect: deny, capability: net.http, methods: [PUT], ports: [80]}]\n"
	     "  protected: [{id: b, capability: workspace.accept, paths: [a/**]}]\n",
	HEAD
	"  approvals: {quorum: 2, approvers: [group:a], requireTouch: true, approveWithin: 1h}\n"
	"  audit: {retention: 30d}\n  caches: [{name: c, at: /opt/c, max: 1GiB}]\n"
	"  tests: [{request: {capability: exec, command: a}, expect: deny}]\n",
};
static const char *const BAD[] = {
	HEAD "  capabilties: []\n",
	HEAD "  Limits: {}\n",
	HEAD "  runtime: Namespaces\n",
	HEAD "  limits: {pids: 0}\n",
	HEAD "  limits: {pids: many}\n",
	HEAD "  limits: {pids: \"64\"}\n",
	HEAD "  limits: {timeout: 30}\n",
	HEAD "  limits: {memory: 2gb}\n",
	HEAD "  limits: {cpu: 0}\n",
	HEAD "  network: none\n",
	HEAD "  network: {egress: [{id: a}]}\n",
	HEAD "  network: {egress: [{id: a, hosts: [\"*\"]}]}\n",
	HEAD "  network: {egress: [{id: a, hosts: [\"\"]}]}\n",
	HEAD "  env: {A-B: x}\n",
	HEAD "  debug: true\n",
	HEAD "  filesystem: {root: {image: a, tag: b}}\n",
	HEAD
	"  credentials: [{name: a, source: {file: /a, vault: b}, inject: {header: X}, to: []}]\n",
	HEAD "  approvals: {requireTouch: on}\n",
	"apiVersion: loom/v1\nkind: Profile\nspec: {capabilities: []}\n",
	"apiVersion: loom/v2\nkind: Profile\nmetadata: {name: x}\nspec: {capabilities: []}\n",
	"apiVersion: loom/v1\nkind: Profile\nmetadata: {name: x}\nspec: {}\n",
};

/* A scalar as any other reader of YAML takes it. */
static json_t *
scalar_json(const struct yaml_node *n)
{
	char *end;
	double d;

	if (!n->plain)
		return json_string(n->text);
	if (strcmp(n->text, "true") == 0 || strcmp(n->text, "false") == 0)
		return json_boolean(n->text[0] == 't');
	d = strtod(n->text, &end);
	if (n->len == 0 || *end != '\0')
		return json_string(n->text);
	if (strspn(n->text, "0123456789") == n->len)
		return json_integer(strtoll(n->text, NULL, 10));
	return json_real(d);
}

static json_t *
node_json(const struct yaml_node *n)
{
	json_t *v = n->kind == YAML_LIST ? json_array() : json_object();

	if (n->kind == YAML_SCALAR) {
		json_decref(v);
		return scalar_json(n);
	}
	for (const struct yaml_node *c = n->first; c != NULL; c = c->next) {
		if (n->kind == YAML_LIST)
			json_array_append_new(v, node_json(c));
		else
			json_object_set_new(v, c->key, node_json(c));
	}
	return v;
}

static json_t *
document(const char *text, size_t len)
{
	CLEANUP(yaml_freep) struct yaml *y = NULL;
	struct error err = {0};

	assert_ok(yaml_read(text, len, "x", &y, &err));
	return node_json(yaml_root(y));
}

static void
loads(const char *text, bool should)
{
	struct policy_source src = {.file = "x", .data = text, .len = strlen(text)};
	struct policy *p = NULL;
	struct error err = {0};

	if ((policy_load(&src, &p, &err) == 0) != should)
		fail_msg("%s\n%s", text, err.text);
	policy_free(p);
}

static const char SCRIPT[] = "import json, sys\n"
			     "try:\n"
			     "    from jsonschema import Draft202012Validator as V\n"
			     "except ImportError:\n"
			     "    sys.exit(77)\n"
			     "t = json.load(open(sys.argv[1]))\n"
			     "V.check_schema(t['schema'])\n"
			     "v = V(t['schema'])\n"
			     "wrong = [('refused', d, [e.message for e in v.iter_errors(d)])\n"
			     "         for d in t['good'] if not v.is_valid(d)]\n"
			     "wrong += [('taken', d) for d in t['bad'] if v.is_valid(d)]\n"
			     "for w in wrong: print(*w, file=sys.stderr)\n"
			     "sys.exit(len(wrong) > 0)\n";

static int
run_validator(const char *path)
{
	char python[] = "python3", flag[] = "-c", script[sizeof(SCRIPT)], file[64];
	char *argv[] = {python, flag, script, file, NULL};
	char *env[] = {NULL};
	int status;
	pid_t pid;

	memcpy(script, SCRIPT, sizeof(SCRIPT));
	(void)snprintf(file, sizeof(file), "%s", path);
	if (posix_spawn(&pid, "/usr/bin/python3", NULL, NULL, argv, env) != 0)
		return 77;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void
another_validator(void **state)
{
	CLEANUP(json_decrefp)
	json_t *task = json_pack("{s:o,s:[],s:[]}", "schema", schema(), "good", "bad");
	const char *must_work = getenv("LOOM_MUST_WORK");
	char path[] = "/tmp/loom-schema-XXXXXX";
	int fd = mkstemp(path), status;
	size_t len = 0;

	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
		loads(GOOD[i], true);
		json_array_append_new(json_object_get(task, "good"),
				      document(GOOD[i], strlen(GOOD[i])));
	}
	for (size_t i = 0; i < policy_shipped_count(); i++) {
		const char *text = policy_shipped_text(i, &len);

		json_array_append_new(json_object_get(task, "good"), document(text, len));
	}
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		loads(BAD[i], false);
		json_array_append_new(json_object_get(task, "bad"),
				      document(BAD[i], strlen(BAD[i])));
	}
	assert_int_equal(json_dumpfd(task, fd, 0), 0);
	status = run_validator(path);
	(void)close(fd);
	(void)unlink(path);
	if (status == 77) {
		print_message("skipped: policy_schema another_validator: python3-jsonschema is not "
			      "installed\n");
		if (must_work != NULL && strcmp(must_work, "1") == 0)
			fail_msg("LOOM_MUST_WORK is set");
		skip();
	}
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key),
		cmocka_unit_test(another_validator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
