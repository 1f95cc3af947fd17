/* socket(family, type, 0) for every family and type; only created, never connected or bound. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "errname.h"

int
main(void)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
	for (int family = 0; family <= 46; family++) {
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			int s = socket(family, types[i], 0);
			printf("family %d type %d %s\n", family, types[i], errname(s));
			if (s >= 0)
				close(s);
		}
	}
	puts("END");
	return 0;
}
