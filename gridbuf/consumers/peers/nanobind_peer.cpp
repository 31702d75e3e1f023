// What nanobind sees of an array, and an array of its own: read and written by its own pointer and strides.
#include <cstring>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using MutableArray = nb::ndarray<nb::device::cpu>;
using ConstArray = nb::ndarray<nb::ro, nb::device::cpu>;

template <typename Array> static nb::bytes values(const Array &array) {
    std::string found;
    std::vector<size_t> index(array.ndim(), 0);
    size_t itemsize = array.itemsize();
    for (size_t n = 0; n < array.size(); ++n) {
        auto p = static_cast<const char *>(array.data());
        for (size_t i = 0; i < index.size(); ++i) p += int64_t(index[i]) * array.stride(i) * int64_t(itemsize);
        found.append(p, itemsize);
        for (size_t i = index.size(); i-- > 0 && ++index[i] == array.shape(i);) index[i] = 0;
    }
    return nb::bytes(found.data(), found.size());
}

static void write(const MutableArray &array, const std::vector<size_t> &index, nb::bytes value) {
    auto p = static_cast<char *>(array.data());
    for (size_t i = 0; i < index.size(); ++i) p += int64_t(index[i]) * array.stride(i) * int64_t(array.itemsize());
    std::memcpy(p, value.c_str(), array.itemsize());
}

// An array that C++ owns; a capsule gives its memory back.
template <typename... Annotations>
static nb::ndarray<nb::array_api, Annotations...> make(nb::bytes bytes, size_t first, int code, int bits, std::vector<size_t> shape,
                                                       std::vector<int64_t> strides) {
    auto memory = new std::string(bytes.c_str(), bytes.size());
    nb::capsule owner(memory, [](void *p) noexcept { delete static_cast<std::string *>(p); });
    nb::dlpack::dtype dtype{uint8_t(code), uint8_t(bits), 1};
    return nb::ndarray<nb::array_api, Annotations...>(memory->data() + first, shape.size(), shape.data(), owner, strides.data(), dtype);
}

template <typename Array> static nb::class_<Array> held(nb::module_ &m, const char *name) {
    return nb::class_<Array>(m, name)
        .def_prop_ro("address", [](const Array &a) { return reinterpret_cast<size_t>(a.data()); })
        .def_prop_ro("code", [](const Array &a) { return std::vector<int>{a.dtype().code, a.dtype().bits}; })
        .def_prop_ro("shape", [](const Array &a) { return std::vector<size_t>(a.shape_ptr(), a.shape_ptr() + a.ndim()); })
        .def_prop_ro("strides", [](const Array &a) { return std::vector<int64_t>(a.stride_ptr(), a.stride_ptr() + a.ndim()); });
}

// Arrays are arguments and not classes in nanobind; these hold one.
struct HeldWritable : MutableArray {
    explicit HeldWritable(const MutableArray &a) : MutableArray(a) {}
};
struct HeldReadOnly : ConstArray {
    explicit HeldReadOnly(const ConstArray &a) : ConstArray(a) {}
};

NB_MODULE(nanobind_peer, m) {
    held<HeldWritable>(m, "Writable")
        .def(nb::init<const MutableArray &>(), nb::arg().noconvert())
        .def("values", [](const HeldWritable &a) { return values(a); })
        .def("write", [](const HeldWritable &a, std::vector<size_t> index, nb::bytes value) { write(a, index, value); });
    held<HeldReadOnly>(m, "ReadOnly")
        .def(nb::init<const ConstArray &>(), nb::arg().noconvert())
        .def("values", [](const HeldReadOnly &a) { return values(a); });
    m.def("make", &make<>);
    m.def("make_readonly", &make<nb::ro>);
}
