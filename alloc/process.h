/* process.h: what every room asks about the process it runs in. */
#pragma once

extern int gb_debugging;   /* GRIDBUF_DEBUG=1: guards and poison around every block */
extern int gb_forked;      /* set in a forked child, where Go must not be entered any more */
