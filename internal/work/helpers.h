/* helpers.h: threads of C that help any room with its work.
 *
 * A helper sleeps until it is lent to a function, and is made when a call first wants it. Where the
 * system makes no more threads there are fewer helpers, or none, and the caller works alone:
 * nothing fails. A forked child begins without helpers and makes its own. Helpers block all signals
 * but those that a fault raises, and work in the floating-point environment of the thread they are
 * lent by.
 */
#pragma once

#include <fenv.h>

/* A function that waits for helpers; it stays where it is until the last one has begun, or
 * gb_work_take_back. */
typedef struct gb_work_loan {
    void (*run)(void *of);
    void *of;
    int awaited; /* helpers that are to come and have not begun */
    fenv_t environment;
    struct gb_work_loan *next;
} gb_work_loan;

/* Lend up to n helpers: those that sleep, and new ones while there are fewer than `most`. How many
 * will come; each runs loan->run(loan->of) once. loan is zeroed but for run and of, or one that was
 * lent before. */
int gb_work_lend(gb_work_loan *loan, int n, int most);

/* run(of) on this thread and on up to n helpers; returns when each that has begun is through. */
void gb_work_together(void (*run)(void *of), void *of, int n);
