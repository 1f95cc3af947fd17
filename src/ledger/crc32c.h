/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): against accidents in record headers, not attackers. */
#ifndef LOOM_LEDGER_CRC32C_H
#define LOOM_LEDGER_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of the bytes whose CRC so far is CRC (0 at the start) and then DATA. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
