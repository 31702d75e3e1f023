// A pybind11 extension that holds buffers, reads and writes them with their own strides, and allocates its own.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace py = pybind11;
using Index = std::vector<py::ssize_t>;

// A view of somebody's memory. It holds the buffer, which holds the memory.
struct Held {
    py::buffer_info info;

    char *at(const Index &index) const {
        if (index.size() != (size_t)info.ndim) throw std::out_of_range("one entry for each index");
        char *found = (char *)info.ptr;
        for (size_t i = 0; i < index.size(); ++i) found += info.strides[i] * index[i];
        return found;
    }
    py::bytes element(const Index &index) const { return py::bytes(at(index), info.itemsize); }
    void set(const Index &index, const std::string &value) {
        if (info.readonly) throw py::buffer_error("the memory is read-only");
        if (value.size() != (size_t)info.itemsize) throw std::invalid_argument("one element");
        std::memcpy(at(index), value.data(), value.size());
    }
};

// Memory of the extension's own: all bytes zero, first element at `start` bytes, strides in bytes.
struct Memory {
    std::vector<char> bytes;
    py::ssize_t start, itemsize;
    std::string format;
    Index shape, strides;
    bool readonly;
};

PYBIND11_MODULE(gridbuf_pybind11, m) {
    py::class_<Held>(m, "Held")
        .def_property_readonly("shape", [](const Held &h) { return h.info.shape; })
        .def_property_readonly("strides", [](const Held &h) { return h.info.strides; })
        .def_property_readonly("format", [](const Held &h) { return h.info.format; })
        .def_property_readonly("readonly", [](const Held &h) { return h.info.readonly; })
        .def_property_readonly("address", [](const Held &h) { return (uintptr_t)h.info.ptr; })
        .def("element", &Held::element)
        .def("set", &Held::set);
    m.def("hold", [](py::buffer buffer) { return Held{buffer.request()}; });
    m.def("hold_writable", [](py::buffer buffer) { return Held{buffer.request(true)}; });
    py::class_<Memory>(m, "Memory", py::buffer_protocol())
        .def(py::init([](py::ssize_t nbytes, py::ssize_t start, py::ssize_t itemsize, std::string format, Index shape, Index strides, bool readonly) {
            return Memory{std::vector<char>(nbytes + 1), start, itemsize, format, shape, strides, readonly};
        }))
        .def("fill", [](Memory &memory, py::ssize_t at, const std::string &value) {
            std::memcpy(memory.bytes.data() + memory.start + at, value.data(), value.size());
        })
        .def_buffer([](Memory &x) {
            return py::buffer_info(x.bytes.data() + x.start, x.itemsize, x.format, (py::ssize_t)x.shape.size(), x.shape, x.strides, x.readonly);
        });
    // Arguments as most programs annotate them: the first two copy what does not fit, the third refuses it.
    m.def("address_any", [](py::array_t<double> a) { return (uintptr_t)a.data(); });
    m.def("address_c", [](py::array_t<double, py::array::c_style | py::array::forcecast> a) { return (uintptr_t)a.data(); });
    m.def("address_exact", [](py::array_t<double, py::array::f_style> a) { return (uintptr_t)a.data(); }, py::arg("a").noconvert());
}
