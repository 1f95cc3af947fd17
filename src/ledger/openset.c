/*
 * An array in the order of the indexes: found by bisection, added at the end. Operations are looked
 * for one by one, which for thousands is still less than what the entry's own hash costs.
 */
#include "ledger/openset.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16

void
openset_init(struct openset *s)
{
	*s = (struct openset){0};
}

void
openset_fini(struct openset *s)
{
	free(s->items);
	*s = (struct openset){0};
}

bool
openset_room(struct openset *s)
{
	struct open_intent *items;
	size_t cap;

	if (s->n < s->cap)
		return true;
	if (s->cap >= OPENSET_MAX)
		return false;
	cap = s->cap == 0 ? FIRST_CAP : 2 * s->cap;
	items = reallocarray(s->items, cap, sizeof(*items));
	if (items == NULL)
		return false;
	s->items = items;
	s->cap = cap;
	return true;
}

void
openset_add(struct openset *s, uint64_t index, uint64_t op, const uint8_t digest[SHA256_LEN])
{
	struct open_intent *item = &s->items[s->n++];

	*item = (struct open_intent){.index = index, .op = op};
	memcpy(item->digest, digest, SHA256_LEN);
}

struct open_intent *
openset_find(struct openset *s, uint64_t index)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->items[middle].index == index)
			return &s->items[middle];
		if (s->items[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool
openset_has_op(const struct openset *s, uint64_t op)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].op == op)
			return true;
	return false;
}

void
openset_remove(struct openset *s, uint64_t index)
{
	struct open_intent *item = openset_find(s, index);
	size_t at;

	if (item == NULL)
		return;
	at = (size_t)(item - s->items);
	memmove(item, item + 1, (s->n - at - 1) * sizeof(*item));
	s->n--;
}

uint64_t
op_number(const char *op)
{
	return strtoull(op + strlen("op_"), NULL, 16);
}
