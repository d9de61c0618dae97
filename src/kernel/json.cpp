#include "json.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <version>

namespace excalibr {
namespace {

std::size_t digits_of(double number, char (&digits)[32]) {
#if defined(__cpp_lib_to_chars)
    return static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits);
#else  // a library that cannot do it for reals: seventeen digits read back as the same number too
    return static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%.17g", number));
#endif
}

}  // namespace

void JsonText::whole(std::int64_t number) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void JsonText::real(double number) {
    if (!std::isfinite(number)) return raw("null");
    char digits[32];
    const std::string_view written(digits, digits_of(number, digits));
    text_ += written;
    if (written.find_first_of(".e") == std::string_view::npos) text_ += ".0";
}

void JsonText::real_again(double number) {
    if (std::isfinite(number) && number == repeated_) return raw(repeated_text_);
    const std::size_t start = text_.size();
    real(number);
    repeated_ = number;
    repeated_text_.assign(text_, start);
}

void JsonText::quoted(std::string_view letters) {
    text_ += '"';
    for (const char letter : letters) {
        if (letter == '"' || letter == '\\') {
            text_ += '\\';
            text_ += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(letter));
            text_ += code;
        } else {
            text_ += letter;
        }
    }
    text_ += '"';
}

}  // namespace excalibr
