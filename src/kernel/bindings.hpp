// How arrays cross between Python and the kernel: views of the caller's memory in, arrays of numpy's own out.
//
// Arguments are read through the buffer protocol, which takes a quarter of the time of nanobind's own arrays where these
// are read-only. An array of another type, with another number of axes or with gaps is a TypeError; nothing is converted.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "arrays.hpp"

namespace excalibr::bindings {

namespace nb = nanobind;

// A contiguous array of the caller's, valid for the call that it is an argument of; `const` for arrays that are only read.
template <typename Number, int axes>
struct Array {
    Number* data = nullptr;
    std::size_t size = 0;  // of all axes together
    std::size_t shape[axes] = {};

    std::size_t rows() const { return shape[0]; }
    std::size_t columns() const { return shape[axes - 1]; }
    std::span<Number> span() const { return {data, size}; }
};

using RealArray = Array<const double, 1>;
using RealTable = Array<const double, 2>;
using IntegerArray = Array<const std::int64_t, 1>;
using IntegerTable = Array<const std::int64_t, 2>;
using FlagArray = Array<const bool, 1>;
using OwnRealArray = Array<double, 1>;
using OwnIntegerArray = Array<std::int64_t, 1>;

template <int axes>
Reals reals(const Array<const double, axes>& array) {
    return array.span();
}

// Refuse what would make the kernel read outside of an array; Python checks what a caller may get wrong before.
inline void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

// The same numbers as `Index`; each must be at least 0 and below `bound`.
template <int axes>
std::vector<Index> indices(const Array<const std::int64_t, axes>& array,
                           std::size_t bound = std::numeric_limits<Index>::max()) {
    std::vector<Index> converted(array.size);
    bool fits = true;
    for (std::size_t at = 0; at < array.size; ++at) {
        fits &= static_cast<std::uint64_t>(array.data[at]) < bound;  // a negative number is larger than any bound
        converted[at] = static_cast<Index>(array.data[at]);
    }
    require(fits, "an index is out of range");
    return converted;
}

// Where the rows of a sparse matrix begin and end, for so many entries.
inline std::vector<Index> row_starts(const IntegerArray& indptr, std::size_t entries) {
    require(entries < std::numeric_limits<Index>::max(), "too many entries for 32-bit places");
    std::vector<Index> starts = indices(indptr, entries + 1);
    bool rising = !starts.empty() && starts.front() == 0 && starts.back() == entries;
    for (std::size_t row = 1; row < starts.size(); ++row) rising &= starts[row - 1] <= starts[row];
    require(rising, "row starts do not rise from 0 to the number of entries");
    return starts;
}

// A sparse matrix of the caller's: places are converted, values are viewed.
struct GivenRows {
    std::vector<Index> starts, columns;
    Reals values;

    SparseView view() const { return {starts, columns, values}; }
    std::size_t rows() const { return starts.size() - 1; }
};

inline GivenRows sparse_rows(const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
                             std::size_t bound) {
    require(columns.size == values.size, "a sparse matrix has as many columns as values");
    return {row_starts(indptr, values.size), indices(columns, bound), reals(values)};
}

// Run with the GIL released: nothing in `work` may touch a Python object.
template <typename Work>
auto without_gil(Work&& work) {
    const nb::gil_scoped_release released;
    return std::forward<Work>(work)();
}

constexpr std::size_t brief_entries = 10'000;  // candidates times categories; an ordinary request has 3,000

// The same for work that is over in a moment where there are so few entries, which then keeps the GIL: to release it and to
// take it back costs as much.
template <typename Work>
auto without_gil_unless_brief(std::size_t entries, Work&& work) {
    return entries <= brief_entries ? work() : without_gil(work);
}

// numpy's `empty`, `frombuffer`, `ndarray` and the types of results, looked up when a module is loaded and kept for the life of the process.
struct Numpy {
    PyObject *empty = nullptr, *frombuffer = nullptr, *ndarray = nullptr, *float64 = nullptr, *int64 = nullptr;

    void load() {
        const nb::module_ numpy = nb::module_::import_("numpy");
        empty = numpy.attr("empty").inc_ref().ptr();
        frombuffer = numpy.attr("frombuffer").inc_ref().ptr();
        ndarray = numpy.attr("ndarray").inc_ref().ptr();
        float64 = numpy.attr("dtype")(numpy.attr("float64")).release().ptr();
        int64 = numpy.attr("dtype")(numpy.attr("int64")).release().ptr();
    }
};
inline Numpy numpy;

// A new array of numpy's with a copy of the numbers: quicker than handing over memory, which costs a capsule and a view.
template <typename Number, typename From>
nb::object copied(const From* from, std::size_t size, nb::handle shape, PyObject* dtype) {
    nb::object array = nb::handle(numpy.empty)(shape, nb::handle(dtype));
    Py_buffer buffer;
    if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) throw nb::python_error();
    auto* to = static_cast<Number*>(buffer.buf);
    for (std::size_t at = 0; at < size; ++at) to[at] = static_cast<Number>(from[at]);
    PyBuffer_Release(&buffer);
    return array;
}

inline nb::object to_numpy(Reals numbers) {
    return copied<double>(numbers.data(), numbers.size(), nb::int_(numbers.size()), numpy.float64);
}

inline nb::object to_numpy(Indices numbers) {
    return copied<std::int64_t>(numbers.data(), numbers.size(), nb::int_(numbers.size()), numpy.int64);
}

inline nb::object to_numpy(std::span<const std::int64_t> numbers) {
    return copied<std::int64_t>(numbers.data(), numbers.size(), nb::int_(numbers.size()), numpy.int64);
}

// A copy that nobody can write to: an array of a `bytes` object is made in half the time of a new one that is then closed.
inline nb::object to_read_only(Reals numbers) {
    const nb::bytes bytes(numbers.data(), numbers.size_bytes());
    return nb::handle(numpy.frombuffer)(bytes, nb::handle(numpy.float64));
}

inline nb::object bytes_of(Indices numbers) {
    const auto size = static_cast<Py_ssize_t>(numbers.size() * sizeof(std::int64_t));
    nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, size));
    if (!bytes.is_valid()) throw nb::python_error();
    auto* to = reinterpret_cast<std::int64_t*>(PyBytes_AsString(bytes.ptr()));
    for (const Index number : numbers) *to++ = number;
    return bytes;
}

inline nb::object to_read_only(Indices numbers) {
    return nb::handle(numpy.frombuffer)(bytes_of(numbers), nb::handle(numpy.int64));
}

// The same with rows, where the numbers are row after row.
inline nb::object to_read_only(Indices numbers, std::size_t rows, std::size_t columns) {
    return nb::handle(numpy.ndarray)(nb::make_tuple(rows, columns), nb::handle(numpy.int64), bytes_of(numbers));
}

inline nb::object to_numpy(Reals numbers, std::size_t rows, std::size_t columns) {
    return copied<double>(numbers.data(), numbers.size(), nb::make_tuple(rows, columns), numpy.float64);
}

inline nb::object to_numpy(Indices numbers, std::size_t rows, std::size_t columns) {
    return copied<std::int64_t>(numbers.data(), numbers.size(), nb::make_tuple(rows, columns), numpy.int64);
}

inline nb::tuple to_numpy(const SparseRows& rows) {
    return nb::make_tuple(to_numpy(Indices(rows.starts)), to_numpy(Indices(rows.columns)), to_numpy(Reals(rows.values)));
}

// The letters that a buffer's format may have for a type, in the machine's own byte order.
template <typename Number>
constexpr const char* letters_of() {
    if (std::is_same_v<Number, double>) return "d";
    if (std::is_same_v<Number, bool>) return "?";
    return "ql";  // the size of an item tells the two apart
}

// A view of the caller's memory, released with it. One function for all types of arrays, not another in every function that
// is bound.
struct BufferView {
    Py_buffer buffer{};
    bool held = false;

    BufferView() = default;
    BufferView(const BufferView&) = delete;
    BufferView& operator=(const BufferView&) = delete;
    NB_NOINLINE ~BufferView() {
        if (held) PyBuffer_Release(&buffer);
    }

    // False where it is no contiguous array with so many axes of items of this size and one of these formats.
    NB_NOINLINE bool take(PyObject* source, int axes, std::size_t item_size, const char* letters, bool writable) noexcept {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(source, &buffer, flags) != 0) {
            PyErr_Clear();
            return false;
        }
        held = true;
        const char* format = buffer.format;
        if (*format == '@' || *format == '=') ++format;
        return buffer.ndim == axes && static_cast<std::size_t>(buffer.itemsize) == item_size && format[0] != '\0' &&
               format[1] == '\0' && std::strchr(letters, format[0]) != nullptr;
    }
};

}  // namespace excalibr::bindings

namespace nanobind::detail {

template <typename Number, int axes>
struct type_caster<excalibr::bindings::Array<Number, axes>> {
    using Taken = excalibr::bindings::Array<Number, axes>;
    NB_TYPE_CASTER(Taken, const_name("numpy.ndarray"))

    excalibr::bindings::BufferView view;

    bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
        const char* letters = excalibr::bindings::letters_of<std::remove_const_t<Number>>();
        if (!view.take(source.ptr(), axes, sizeof(Number), letters, !std::is_const_v<Number>)) return false;
        value.data = static_cast<Number*>(view.buffer.buf);
        value.size = static_cast<std::size_t>(view.buffer.len) / sizeof(Number);
        for (int axis = 0; axis < axes; ++axis) value.shape[axis] = static_cast<std::size_t>(view.buffer.shape[axis]);
        return true;
    }
};

}  // namespace nanobind::detail
