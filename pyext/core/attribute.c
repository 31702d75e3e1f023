/* attribute.c: asking for attributes without the price of an AttributeError. */
#define _GNU_SOURCE
#include "attribute.h"

#include <dlfcn.h>

struct gb_py_attribute_names gb_py_attr;

/* Python has had this for long, but outside the limited API: looked up by name, under
 * its public name (3.13) or the older one. */
static int (*lookup)(PyObject *, PyObject *, PyObject **);

int gb_py_optional(PyObject *obj, PyObject *name, PyObject **value) {
    if (lookup) return lookup(obj, name, value);
    if ((*value = PyObject_GetAttr(obj, name))) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

int gb_py_attribute_init(void) {
    static const struct { PyObject **into; const char *name; } all[] = {
        {&gb_py_attr.exchange_api, "__dlpack_c_exchange_api__"}, {&gb_py_attr.dlpack, "__dlpack__"},
        {&gb_py_attr.dlpack_device, "__dlpack_device__"}, {&gb_py_attr.array_struct, "__array_struct__"},
        {&gb_py_attr.array_interface, "__array_interface__"}, {&gb_py_attr.cuda_array_interface, "__cuda_array_interface__"},
        {&gb_py_attr.array, "__array__"}, {&gb_py_attr.gt_dims, "__gt_dims__"}, {&gb_py_attr.dims, "dims"},
        {&gb_py_attr.gt_origin, "__gt_origin__"}, {&gb_py_attr.readonly, "readonly"}, {&gb_py_attr.flags, "flags"},
        {&gb_py_attr.writeable, "writeable"}, {&gb_py_attr.is_conj, "is_conj"}, {&gb_py_attr.is_neg, "is_neg"},
        {&gb_py_attr.requires_grad, "requires_grad"}, {&gb_py_attr.mask, "mask"}, {&gb_py_attr.gt_axis_name, "__gt_axis_name__"},
        {&gb_py_attr.value, "value"}, {&gb_py_attr.dict, "__dict__"}, {&gb_py_attr.gt_interface, "__gt_interface__"},
        {&gb_py_attr.gt_data_interface, "__gt_data_interface__"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(*all[i].into = PyUnicode_InternFromString(all[i].name))) return -1;
    lookup = (int (*)(PyObject *, PyObject *, PyObject **))dlsym(RTLD_DEFAULT, "PyObject_GetOptionalAttr");
    if (!lookup) lookup = (int (*)(PyObject *, PyObject *, PyObject **))dlsym(RTLD_DEFAULT, "_PyObject_LookupAttr");
    return 0;
}

int gb_py_words_init(const char *const *texts, PyObject **words, int n) {
    for (int i = 0; i < n; i++)
        if (!(words[i] = PyUnicode_InternFromString(texts[i]))) return -1;
    return 0;
}

int gb_py_word_find(PyObject *const *words, int n, PyObject *name) {
    for (int i = 0; i < n; i++)
        if (words[i] == name) return i;
    for (int i = 0; i < n; i++)   /* a name that was built at run time is not interned */
        if (PyUnicode_Compare(words[i], name) == 0) return i;
    return -1;
}
