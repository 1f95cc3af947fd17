/*
 * Making follows the definition in RFC 6962: at each split the half without the leaf contributes
 * its root. That half is complete on the left side; on the right side it is put together from
 * complete subtrees, so the source never has to know the size of the tree.
 */
#include "ledger/proof.h"

#include <errno.h>
#include <string.h>

#include "ledger/merkle.h"

int
proof_check(const uint8_t leaf[SHA256_LEN], uint64_t index, uint64_t size,
	    const uint8_t (*path)[SHA256_LEN], size_t n, const uint8_t root[SHA256_LEN],
	    struct error *err)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	uint8_t up[SHA256_LEN];
	uint64_t at = index, last;

	if (h == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	if (index >= size)
		return error_set(err, -EBADMSG, "entry %llu is not in a tree of %llu",
				 (unsigned long long)index, (unsigned long long)size);
	last = size - 1;
	memcpy(up, leaf, sizeof(up));
	for (size_t i = 0; i < n; i++) {
		if (last == 0)
			return error_set(err, -EBADMSG, "the inclusion proof is too long");
		if ((at & 1) != 0 || at == last) {
			merkle_node(h, path[i], up, up);
			for (; (at & 1) == 0 && at != 0; at >>= 1)
				last >>= 1;
		} else {
			merkle_node(h, up, path[i], up);
		}
		at >>= 1;
		last >>= 1;
	}
	if (last != 0)
		return error_set(err, -EBADMSG, "the inclusion proof is too short");
	if (memcmp(up, root, sizeof(up)) != 0)
		return error_set(err, -EBADMSG, "the inclusion proof leads to another root");
	return 0;
}

/* The largest power of two below N, as an exponent; N is at least 2. */
static unsigned int
split_level(uint64_t n)
{
	return 63 - (unsigned int)__builtin_clzll(n - 1);
}

/* The root over the leaves [FIRST, END), which is not empty; FIRST is where a subtree may start. */
static int
range_root(const struct proof_source *source, struct sha256 *h, uint64_t first, uint64_t end,
	   uint8_t ret[SHA256_LEN], struct error *err)
{
	uint8_t part[MERKLE_LEVELS][SHA256_LEN];
	unsigned int n = 0;
	int r;

	/* Complete subtrees from the left, each smaller than the one before. */
	while (first < end) {
		unsigned int level = 63 - (unsigned int)__builtin_clzll(end - first);

		r = source->node(source->ctx, level, first >> level, part[n++], err);
		if (r < 0)
			return r;
		first += UINT64_C(1) << level;
	}
	for (; n > 1; n--)
		merkle_node(h, part[n - 2], part[n - 1], part[n - 2]);
	memcpy(ret, part[0], SHA256_LEN);
	return 0;
}

int
proof_make(const struct proof_source *source, uint64_t index, uint64_t size,
	   uint8_t ret_path[PROOF_PATH_MAX][SHA256_LEN], size_t *ret_n, struct error *err)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	uint8_t down[PROOF_PATH_MAX][SHA256_LEN];
	uint64_t first = 0, end = size;
	size_t n = 0;
	int r;

	if (h == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	if (index >= size)
		return error_set(err, -ERANGE, "there is no entry %llu in a tree of %llu",
				 (unsigned long long)index, (unsigned long long)size);
	while (end - first > 1) {
		uint64_t middle = first + (UINT64_C(1) << split_level(end - first));
		bool left = index < middle;

		r = left ? range_root(source, h, middle, end, down[n++], err)
			 : range_root(source, h, first, middle, down[n++], err);
		if (r < 0)
			return r;
		if (left)
			end = middle;
		else
			first = middle;
	}
	/* Found from the root down; read from the leaf up. */
	for (size_t i = 0; i < n; i++)
		memcpy(ret_path[i], down[n - 1 - i], SHA256_LEN);
	*ret_n = n;
	return 0;
}
