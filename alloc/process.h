/* process.h: what every room asks about the process it runs in. */
#pragma once

extern int gb_debugging;   /* GRIDBUF_DEBUG=1: guards and poison around every block */
extern int gb_forked;      /* set in a forked child, where Go must not be entered any more */

/* What the environment says now, NULL: nothing. A program may say otherwise while it runs; C asks nowhere else. */
const char *gb_setting(const char *variable);
int gb_setting_is(const char *variable, const char *value);
