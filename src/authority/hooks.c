/*
 * The honest steps: what was decided and recorded goes on as it is.
 */
#include "authority/hooks.h"

#include "authority/authority.h"

static int
grant(struct authority *a, const struct grant_step *g, struct error *err)
{
	uint8_t receipt[RECEIPT_LEN];

	receipt_encode(g->receipt, receipt);
	return PEER_SEND_FDS(&a->box, grant, err, &g->profile_fd, 1, .ticket = g->ticket,
			     .entry = wire_bytes_of(g->entry->data, g->entry->len),
			     .receipt = wire_bytes_of(receipt, sizeof(receipt)));
}

static int
examine(struct authority *a, int *fds, size_t n_fds, struct error *err)
{
	return 0;
}

static int
outcome(struct authority *a, struct outcome_step *o, struct error *err)
{
	return 0;
}

const struct hooks authority_hooks = {.grant = grant, .examine = examine, .outcome = outcome};
