/* Names the request that the calling thread works for, for `contend trace`: contend_label("GET /x"). NULL or "" ends it.
 * Nothing is linked; a program that is not traced pays for a load and a branch. docs/labels.md has the rules. */
#ifndef CONTEND_LABEL_H
#define CONTEND_LABEL_H
#ifdef __cplusplus
extern "C"
#endif
void contend_trace_label(const char *name) __attribute__((weak, noplt));
static inline void contend_label(const char *name) { if (contend_trace_label) contend_trace_label(name); }
#endif
