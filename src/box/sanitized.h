/* Is this a build with AddressSanitizer? It keeps its own books of stacks and wants to look for leaks. */
#ifndef LOOM_BOX_SANITIZED_H
#define LOOM_BOX_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
