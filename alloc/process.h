/* process.h: what every room asks about the process it runs in. */
#pragma once

extern int gb_debugging; /* GRIDBUF_DEBUG=1: guards and poison around every block */
extern int
    gb_forked; /* how many forks lie between this process and the one that loaded the library */

/* What the environment says now, NULL: nothing. A program may say otherwise while it runs; C asks
 * nowhere else. */
const char *gb_setting(const char *variable);
int gb_setting_is(const char *variable, const char *value);

/* The least limit, of those that limit_of finds in a folder (0: none), which the control groups of
 * this process and the groups above them set for a controller ("cpu", "memory"); 0: no limit. The
 * root is "" but in tests. */
enum { GB_GROUP_PATH = 8192 }; /* bytes of a folder's path */
double gb_group_limit(const char *root, const char *controller,
                      double (*limit_of)(const char *folder));
