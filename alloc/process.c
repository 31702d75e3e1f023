/* process.c: what the environment says, and the control groups that this process runs in, of both
 * versions. */
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gb_setting(const char *variable) { return getenv(variable); }

int gb_setting_is(const char *variable, const char *value) {
    const char *says = gb_setting(variable);
    return says && strcmp(says, value) == 0;
}

static int lists(char *kinds, const char *controller) {
    for (char *rest, *kind = strtok_r(kinds, ",", &rest); kind; kind = strtok_r(NULL, ",", &rest))
        if (strcmp(kind, controller) == 0) return 1;
    return 0;
}

double gb_group_limit(const char *root, const char *controller,
                      double (*limit_of)(const char *folder)) {
    char path[4200], line[4096];
    double least = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = fopen(path, "re");
    while (groups && fgets(line, sizeof line, groups)) { /* "0::/path" or "4:cpu,cpuacct:/path" */
        line[strcspn(line, "\n")] = 0;
        char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        char folder[GB_GROUP_PATH];
        int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, kinds[1] ? "/" : "",
                           kinds + 1);
        if (top >= (int)sizeof folder || (kinds[1] && !lists(kinds + 1, controller))) continue;
        snprintf(folder + top, sizeof folder - (size_t)top, "%s", group);
        for (;;) { /* the group and those above it */
            double limit = limit_of(folder);
            if (limit > 0 && (least == 0 || limit < least)) least = limit;
            char *last = strrchr(folder + top, '/');
            if (!last) break;
            *last = 0;
        }
    }
    if (groups) fclose(groups);
    return least;
}
