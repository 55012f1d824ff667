#include <stdio.h>
#include "x.h"
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define VER 1
/* Doc. */
static inline int *foo(const char *a, int (*cb)(int, void *), ...) { return 0; }
struct point { int x; };
typedef struct { int a; } anon_t;
typedef struct node node_t;
typedef struct tag2 { int q; } tag2_t, *tag2_p;
typedef int (*handler)(int);
enum color { RED };
union u { int a; };
int proto(void);
void (*signal(int sig, void (*func)(int)))(int) { }
EXPORT int macro_fn(int x) { return 1; }
LUA_API void lua_x (lua_State *L) { }
static PyObject *
mod_do(PyObject *self)
{
}
int knr(a, b) int a; char *b; { }
__attribute__((noreturn)) void die(void);
#ifdef X
int a_if(int x) {
#else
int a_if(long x) {
#endif
}
int (*fp)(int) = 0;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Opens a file. Then more.
 * @param path where
 */
LIB_API lib_handle lib_open(const char *path);

SOME_MACRO_LINE

static const struct entry *
find_entry (struct table *t, unsigned key)
{
  return 0;
}

#ifdef __cplusplus
}
#endif
