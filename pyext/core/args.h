/* args.h: the arguments of a call, one by one. */
#pragma once

#include "../../alloc/planner.h"
#include "dtype.h"
#include "go.h"
#include "lists.h"

/* The standing backend: `name` for everybody (NULL: C), and what says it for the context that runs
 * (NULL: no context ever had one of its own). */
typedef struct {
    PyObject *name, *ask;
} gb_py_standing_backend;
extern gb_py_standing_backend gb_py_standing;
extern int gb_py_registered_so_far; /* how many backends were registered: what is remembered by a
                                       backend's name has it in its key */

/* Lists of numbers. Each returns the length, or -1 with an error that names arg. */
int gb_py_ints(PyObject *obj, const char *arg, int64_t *out, int room);
int gb_py_dims(PyObject *obj, const char *arg, int32_t *out, int room);
/* Whether a layout is the rank of each index's stride; else it names the indices, that of the
 * largest stride first. */
int gb_py_in_ranks(PyObject *layout);
/* Pairs (low, high); out has 2 * room entries. A bare int is a TypeError. */
int gb_py_halo(PyObject *obj, int64_t *out, int room);
PyObject *gb_py_dims_tuple(const int32_t *dims, int ndim);
PyObject *gb_py_ints_tuple(const int64_t *values, int n);
PyObject *gb_py_pairs_tuple(const int64_t *pairs, int n); /* ((low, high), ...) */
/* After PyArg_ParseTupleAndKeywords: the error about a keyword that is none of `takes` says which
 * may be meant. */
void gb_py_blame_keyword(const char *function, PyObject *kwargs, char **takes);
/* A ValueError, TypeError, ...: the message, and behind it which of the known words (a tuple) was
 * meant, if one is near. */
void gb_py_error_with_suggestion(PyObject *type, PyObject *word, PyObject *known,
                                 PyObject *message);
/* The contents of a bytes object, without a copy; 0, or -1 with a TypeError that names arg. */
int gb_py_bytes(PyObject *obj, const char *arg, const char **out, Py_ssize_t *size);
int gb_py_int64(PyObject *obj, const char *arg, const char *expected, int64_t *out);
int gb_py_bool(
    PyObject *obj, const char *arg,
    const char *expected); /* 1 or 0, of a bool of Python's or NumPy's; -1 with a TypeError */
/* What copy= says: 1 or 0; -2 for None or NULL; -1 with a TypeError for what is neither. */
int gb_py_copy_word(PyObject *obj);

/* backends.c */
/* The preset's number, and for one with a function the layout written into r. */
int gb_py_read_backend(PyObject *obj, gb_request *r);
int gb_py_add_backend(PyObject *name, PyObject *layout,
                      gb_preset *preset); /* layout: the function, where its order is one */
