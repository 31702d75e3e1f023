// What pybind11 sees of a buffer, and a buffer of its own: read and written by its own pointer and strides.
#include <cstring>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

// Memory that C++ owns, with the strides of any layout.
struct Memory {
    std::string bytes;
    py::ssize_t first;
    py::ssize_t itemsize;
    std::string format;
    std::vector<py::ssize_t> shape, strides;
    bool readonly;
};

// A buffer that is held.
struct Held {
    py::buffer_info info;
    explicit Held(const py::buffer &buffer, bool writable) : info(buffer.request(writable)) {}

    char *at(const std::vector<py::ssize_t> &index) const {
        char *p = static_cast<char *>(info.ptr);
        for (size_t i = 0; i < index.size(); ++i) p += index[i] * info.strides[i];
        return p;
    }

    // The elements in C order.
    py::bytes values() const {
        std::string found;
        std::vector<py::ssize_t> index(info.ndim, 0);
        for (py::ssize_t n = 0; n < info.size; ++n) {
            found.append(at(index), info.itemsize);
            for (py::ssize_t i = info.ndim; i-- > 0 && ++index[i] == info.shape[i];) index[i] = 0;
        }
        return py::bytes(found);
    }

    void write(const std::vector<py::ssize_t> &index, const std::string &value) {
        if (info.readonly) throw py::buffer_error("the buffer is read-only");
        std::memcpy(at(index), value.data(), info.itemsize);
    }
};

PYBIND11_MODULE(pybind11_peer, m) {
    py::class_<Memory>(m, "Memory", py::buffer_protocol())
        .def(py::init([](py::bytes bytes, py::ssize_t first, py::ssize_t itemsize, std::string format, std::vector<py::ssize_t> shape,
                         std::vector<py::ssize_t> strides, bool readonly) {
            return Memory{std::string(bytes), first, itemsize, format, shape, strides, readonly};
        }))
        .def_buffer([](Memory &m) {
            return py::buffer_info(m.bytes.data() + m.first, m.itemsize, m.format, m.shape.size(), m.shape, m.strides, m.readonly);
        });
    py::class_<Held>(m, "Held")
        .def(py::init<const py::buffer &, bool>())
        .def("values", &Held::values)
        .def("write", &Held::write)
        .def_property_readonly("address", [](const Held &h) { return reinterpret_cast<size_t>(h.info.ptr); })
        .def_property_readonly("format", [](const Held &h) { return h.info.format; })
        .def_property_readonly("shape", [](const Held &h) { return h.info.shape; })
        .def_property_readonly("strides", [](const Held &h) { return h.info.strides; })
        .def_property_readonly("readonly", [](const Held &h) { return h.info.readonly; });
}
