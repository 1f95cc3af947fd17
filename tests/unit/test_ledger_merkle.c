#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "ledger/edge.h"
#include "ledger/merkle.h"
#include "ledger/proof.h"

#define PROPERTY_SIZES 200

static void
assert_hex(const uint8_t hash[SHA256_LEN], const char *want)
{
	char text[2 * SHA256_LEN + 1];

	hex_encode(hash, SHA256_LEN, text);
	assert_string_equal(text, want);
}

/* The eight entries that certificate transparency's implementations test with, and their roots. */
static const struct {
	const char *bytes;
	size_t len;
	const char *root;
} VECTORS[] = {
	{"", 0, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
	{"\x00", 1, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"},
	{"\x10", 1, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"},
	{"\x20\x21", 2, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"},
	{"\x30\x31", 2, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"},
	{"\x40\x41\x42\x43", 4, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"},
	{"\x50\x51\x52\x53\x54\x55\x56\x57", 8,
	 "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"},
	{"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16,
	 "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"},
};

static void
rfc6962_vectors(void **state)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	uint8_t leaf[SHA256_LEN], root[SHA256_LEN];
	struct frontier f;

	assert_non_null(h);
	frontier_init(&f);
	frontier_root(&f, h, root);
	assert_hex(root, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	for (size_t i = 0; i < ARRAY_LEN(VECTORS); i++) {
		merkle_leaf(h, VECTORS[i].bytes, VECTORS[i].len, leaf);
		frontier_add(&f, h, leaf);
		assert_int_equal(f.size, i + 1);
		frontier_root(&f, h, root);
		assert_hex(root, VECTORS[i].root);
	}
	merkle_leaf(h, "L123456", 7, leaf);
	assert_hex(leaf, "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56");
	merkle_node(h, (const uint8_t *)"N123456789012345678901234567890x",
		    (const uint8_t *)"M123456789012345678901234567890y", root);
	/* SHA-256 of 0x01 and the two, by another implementation. */
	assert_hex(root, "7e7cb427f1696915edcbaad048230e7dde271be43c94bbf09155fec5490ae209");
}

/* The definition in RFC 6962, word by word: what the fast ways must agree with. */
static void
naive_root(struct sha256 *h, const uint8_t (*leaves)[SHA256_LEN], size_t n, uint8_t ret[SHA256_LEN])
{
	uint8_t left[SHA256_LEN], right[SHA256_LEN];
	size_t k = 1;

	if (n == 0) {
		sha256_of("", 0, ret);
		return;
	}
	if (n == 1) {
		memcpy(ret, leaves[0], SHA256_LEN);
		return;
	}
	while (2 * k < n)
		k *= 2;
	naive_root(h, leaves, k, left);
	naive_root(h, leaves + k, n - k, right);
	merkle_node(h, left, right, ret);
}

static size_t
naive_path(struct sha256 *h, const uint8_t (*leaves)[SHA256_LEN], size_t n, size_t m,
	   uint8_t (*path)[SHA256_LEN])
{
	size_t k = 1, used;

	if (n <= 1)
		return 0;
	while (2 * k < n)
		k *= 2;
	if (m < k) {
		used = naive_path(h, leaves, k, m, path);
		naive_root(h, leaves + k, n - k, path[used]);
	} else {
		used = naive_path(h, leaves + k, n - k, m - k, path);
		naive_root(h, leaves, k, path[used]);
	}
	return used + 1;
}

static void
leaves_make(struct sha256 *h, uint8_t (*leaves)[SHA256_LEN], size_t n)
{
	for (size_t i = 0; i < n; i++)
		merkle_leaf(h, &i, sizeof(i), leaves[i]);
}

struct source {
	struct sha256 *h;
	const uint8_t (*leaves)[SHA256_LEN];
	size_t n;
};

static int
source_node(void *ctx, unsigned int level, uint64_t index, uint8_t ret[SHA256_LEN],
	    struct error *err)
{
	const struct source *s = ctx;

	(void)err;
	assert_true((index + 1) << level <= s->n);
	naive_root(s->h, s->leaves + (index << level), (size_t)1 << level, ret);
	return 0;
}

static void
proofs_of_all_sizes(void **state)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	static uint8_t leaves[PROPERTY_SIZES][SHA256_LEN];
	struct frontier f;

	leaves_make(h, leaves, PROPERTY_SIZES);
	frontier_init(&f);
	for (size_t n = 1; n <= PROPERTY_SIZES; n++) {
		struct source s = {h, leaves, n};
		const struct proof_source source = {source_node, &s};
		uint8_t root[SHA256_LEN], want[SHA256_LEN];

		frontier_add(&f, h, leaves[n - 1]);
		frontier_root(&f, h, root);
		naive_root(h, leaves, n, want);
		assert_memory_equal(root, want, SHA256_LEN);
		for (size_t m = 0; m < n; m++) {
			uint8_t path[PROOF_PATH_MAX][SHA256_LEN], naive[PROOF_PATH_MAX][SHA256_LEN];
			size_t len = 0, naive_len = naive_path(h, leaves, n, m, naive);

			assert_ok(proof_make(&source, m, n, path, &len, NULL));
			assert_int_equal(len, naive_len);
			assert_memory_equal(path, naive, len * SHA256_LEN);
			assert_ok(proof_check(leaves[m], m, n, path, len, root, NULL));
		}
	}
}

/* Every way to be a little wrong is wrong. */
static void
proofs_that_do_not_hold(void **state)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	static uint8_t leaves[PROPERTY_SIZES][SHA256_LEN];
	struct error err = {0};

	leaves_make(h, leaves, PROPERTY_SIZES);
	for (size_t n = 1; n <= 70; n++) {
		uint8_t root[SHA256_LEN];

		naive_root(h, leaves, n, root);
		for (size_t m = 0; m < n; m++) {
			uint8_t path[PROOF_PATH_MAX][SHA256_LEN] = {0};
			size_t len = naive_path(h, leaves, n, m, path);

			for (size_t k = 0; k < n + 2; k++)
				if (k != m)
					assert_fails(-EBADMSG, &err,
						     proof_check(leaves[m], k, n, path, len, root,
								 &err));
			assert_fails(-EBADMSG, &err,
				     proof_check(leaves[(m + 1) % PROPERTY_SIZES], m, n, path, len,
						 root, &err));
			assert_fails(-EBADMSG, &err,
				     proof_check(leaves[m], m, n, path, len + 1, root, &err));
			if (len > 0)
				assert_fails(-EBADMSG, &err,
					     proof_check(leaves[m], m, n, path, len - 1, root,
							 &err));
			for (size_t i = 0; i < len; i++) {
				path[i][i % SHA256_LEN] ^= 1;
				assert_fails(-EBADMSG, &err,
					     proof_check(leaves[m], m, n, path, len, root, &err));
				path[i][i % SHA256_LEN] ^= 1;
			}
		}
	}
	assert_fails(-EBADMSG, &err, proof_check(leaves[0], 0, 0, leaves, 0, leaves[0], &err));
}

static void
proof_beyond_the_end(void **state)
{
	uint8_t path[PROOF_PATH_MAX][SHA256_LEN];
	struct source s = {NULL, NULL, 0};
	const struct proof_source source = {source_node, &s};
	struct error err = {0};
	size_t n;

	assert_fails(-ERANGE, &err, proof_make(&source, 0, 0, path, &n, &err));
	assert_fails(-ERANGE, &err, proof_make(&source, 5, 5, path, &n, &err));
}

struct counted {
	unsigned int full[TILE_LEVELS];
	int fail;
};

static int
on_full(void *ctx, unsigned int level, uint64_t n, edge_hashes hashes, struct error *err)
{
	struct counted *c = ctx;

	(void)hashes;
	if (c->fail < 0)
		return error_set(err, c->fail, "no");
	assert_int_equal(n, c->full[level]);
	c->full[level]++;
	return 0;
}

/* Across two levels of tiles the edge and the frontier are the same tree. */
static void
edge_is_the_frontier(void **state)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	struct counted c = {0};
	struct frontier f, g;
	struct error err = {0};
	struct edge e;

	assert_ok(edge_init(&e, NULL));
	frontier_init(&f);
	for (uint64_t i = 0; i < 256 * 256 + 300; i++) {
		uint8_t leaf[SHA256_LEN];

		merkle_leaf(h, &i, sizeof(i), leaf);
		/* Refused where it matters most, it is as if it had never been asked. */
		if (i % 256 == 255) {
			c.fail = -ENOSPC;
			assert_fails(-ENOSPC, &err, edge_add(&e, leaf, on_full, &c, &err));
			assert_int_equal(e.size, i);
			c.fail = 0;
		}
		assert_ok(edge_add(&e, leaf, on_full, &c, NULL));
		frontier_add(&f, h, leaf);
		if (i % 97 == 0 || i % 256 > 253) {
			edge_frontier(&e, &g);
			assert_true(frontier_equal(&f, &g));
		}
	}
	assert_int_equal(c.full[0], 257);
	assert_int_equal(c.full[1], 1);
	assert_int_equal(c.full[2], 0);
	g.hash[2][0] ^= 1;
	assert_false(frontier_equal(&f, &g));
	edge_fini(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc6962_vectors),	cmocka_unit_test(proofs_of_all_sizes),
		cmocka_unit_test(proofs_that_do_not_hold), cmocka_unit_test(proof_beyond_the_end),
		cmocka_unit_test(edge_is_the_frontier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
