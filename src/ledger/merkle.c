/*
 * A tree of n leaves is one complete subtree for each set bit of n, the largest to the left. Adding
 * a leaf is adding one to n: subtrees of equal height join as the carry goes up.
 */
#include "ledger/merkle.h"

#include <string.h>

#define FOLD_MAX 256

void
merkle_leaf(struct sha256 *h, const void *entry, size_t len, uint8_t ret[SHA256_LEN])
{
	const uint8_t zero = 0;

	sha256_add(h, &zero, 1);
	sha256_add(h, entry, len);
	sha256_end(h, ret);
}

void
merkle_node(struct sha256 *h, const uint8_t left[SHA256_LEN], const uint8_t right[SHA256_LEN],
	    uint8_t ret[SHA256_LEN])
{
	uint8_t node[1 + 2 * SHA256_LEN];

	node[0] = 1;
	memcpy(node + 1, left, SHA256_LEN);
	memcpy(node + 1 + SHA256_LEN, right, SHA256_LEN);
	sha256_add(h, node, sizeof(node));
	sha256_end(h, ret);
}

void
merkle_fold(struct sha256 *h, const uint8_t (*hashes)[SHA256_LEN], size_t n,
	    uint8_t ret[SHA256_LEN])
{
	uint8_t level[FOLD_MAX][SHA256_LEN];

	memcpy(level, hashes, n * SHA256_LEN);
	for (; n > 1; n /= 2)
		for (size_t i = 0; i < n / 2; i++)
			merkle_node(h, level[2 * i], level[2 * i + 1], level[i]);
	memcpy(ret, level[0], SHA256_LEN);
}

void
frontier_init(struct frontier *f)
{
	memset(f, 0, sizeof(*f));
}

void
frontier_add(struct frontier *f, struct sha256 *h, const uint8_t leaf[SHA256_LEN])
{
	uint8_t up[SHA256_LEN];
	unsigned int level = 0;

	memcpy(up, leaf, sizeof(up));
	for (; (f->size >> level & 1) != 0; level++)
		merkle_node(h, f->hash[level], up, up);
	memcpy(f->hash[level], up, sizeof(up));
	f->size++;
}

bool
frontier_equal(const struct frontier *a, const struct frontier *b)
{
	if (a->size != b->size)
		return false;
	for (unsigned int level = 0; level < MERKLE_LEVELS; level++)
		if ((a->size >> level & 1) != 0 &&
		    memcmp(a->hash[level], b->hash[level], SHA256_LEN) != 0)
			return false;
	return true;
}

void
frontier_root(const struct frontier *f, struct sha256 *h, uint8_t ret[SHA256_LEN])
{
	unsigned int level = 0;

	if (f->size == 0) {
		sha256_end(h, ret);
		return;
	}
	while ((f->size >> level & 1) == 0)
		level++;
	memcpy(ret, f->hash[level], SHA256_LEN);
	for (level++; level < MERKLE_LEVELS; level++)
		if ((f->size >> level & 1) != 0)
			merkle_node(h, f->hash[level], ret, ret);
}
