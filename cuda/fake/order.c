/* order.c: which work comes after which: that of one stream, of a legacy stream and those that
 * block with it, of events. */
#include "fake.h"

static int keeps_back(const fake_work *first, const fake_work *later) {
    const fake_stream *a = first->stream, *b = later->stream;
    return a == b ||
           (a->context == b->context && ((a->legacy && b->blocking) || (b->legacy && a->blocking)));
}

int fake_is_behind(const fake_work *later, const fake_work *earlier) {
    if (earlier->number >= later->number) return 0;
    if (later->after_all ? earlier->stream->context == later->stream->context
                         : keeps_back(earlier, later))
        return 1;
    return later->waits && !earlier->waits && earlier->event == later->event &&
           earlier->version == later->version;
}
