// A nanobind extension that holds arrays, reads and writes them with their own strides, and allocates its own.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;

static int64_t offset(const std::vector<int64_t> &strides, const std::vector<size_t> &index) {
    if (index.size() != strides.size()) throw std::out_of_range("one entry for each index");
    int64_t sum = 0;
    for (size_t i = 0; i < index.size(); ++i) sum += strides[i] * (int64_t)index[i];
    return sum;
}

template <typename Array> struct Held {
    Array array;

    size_t itemsize() const { return array.itemsize(); }
    std::vector<size_t> shape() const {
        std::vector<size_t> found;
        for (size_t i = 0; i < array.ndim(); ++i) found.push_back(array.shape(i));
        return found;
    }
    std::vector<int64_t> strides() const { // in bytes
        std::vector<int64_t> found;
        for (size_t i = 0; i < array.ndim(); ++i) found.push_back(array.stride(i) * (int64_t)itemsize());
        return found;
    }
    const char *at(const std::vector<size_t> &index) const { return (const char *)array.data() + offset(strides(), index); }
    nb::bytes element(const std::vector<size_t> &index) const { return nb::bytes(at(index), itemsize()); }
    void set(const std::vector<size_t> &index, nb::bytes value) {
        if (value.size() != itemsize()) throw std::invalid_argument("one element");
        std::memcpy((void *)at(index), value.c_str(), itemsize());
    }
};

using Writable = Held<nb::ndarray<>>;
using Constant = Held<nb::ndarray<nb::ro>>;

template <typename T> static nb::class_<T> held(nb::module_ &m, const char *name) {
    return nb::class_<T>(m, name, nb::is_weak_referenceable())
        .def_prop_ro("shape", &T::shape)
        .def_prop_ro("strides", &T::strides)
        .def_prop_ro("address", [](const T &h) { return (uintptr_t)h.array.data(); })
        .def_prop_ro("dtype", [](const T &h) { return nb::make_tuple((int)h.array.dtype().code, (int)h.array.dtype().bits); })
        .def("element", &T::element);
}

using Own = nb::ndarray<nb::array_api>;

// Memory of the extension's own: all bytes zero, first element at `start` bytes, strides in elements.
static Own make(size_t nbytes, int64_t start, std::vector<size_t> shape, std::vector<int64_t> strides, int code, int bits) {
    char *memory = new char[nbytes + 1]();
    nb::capsule owner(memory, [](void *p) noexcept { delete[] (char *)p; });
    nb::dlpack::dtype dtype{(uint8_t)code, (uint8_t)bits, 1};
    return Own(memory + start, shape.size(), shape.data(), owner, strides.data(), dtype);
}

NB_MODULE(gridbuf_nanobind, m) {
    held<Writable>(m, "Writable").def("set", &Writable::set);
    held<Constant>(m, "Constant");
    m.def("hold", [](nb::ndarray<> array) { return Writable{array}; });
    m.def("hold", [](nb::ndarray<nb::ro> array) { return Constant{array}; }); // where the first refuses: read-only memory
    m.def("make", &make);
    m.def("constant", [](nb::object owner) {
        Own a = nb::cast<Own>(owner);
        std::vector<size_t> shape(a.shape_ptr(), a.shape_ptr() + a.ndim());
        return nb::ndarray<nb::array_api, nb::ro>(a.data(), a.ndim(), shape.data(), owner, a.stride_ptr(), a.dtype());
    });
    // Arguments as most programs annotate them.
    m.def("sum_c", [](nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> a) {
        double sum = 0;
        for (size_t i = 0; i < a.shape(0) * a.shape(1); ++i) sum += a.data()[i];
        return nb::make_tuple(sum, (uintptr_t)a.data());
    }, nb::arg("a"));
    m.def("sum_c_in_place", [](nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> a) {
        return (uintptr_t)a.data();
    }, nb::arg("a").noconvert());
}
