// Numbers and text written as JSON, one after the other, into one piece of memory.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <version>

namespace excalibr {

class JsonText {
  public:
    const std::string& text() const { return text_; }
    void reserve(std::size_t size) { text_.reserve(size); }
    void raw(std::string_view written) { text_ += written; }

    void whole(std::int64_t number) {
        char digits[24];
        text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    }

    // The shortest text that reads back as the same number, with a point or an exponent; null where JSON has none.
    void real(double number) {
        if (!std::isfinite(number)) return raw("null");
        char digits[32];
        const std::string_view written(digits, digits_of(number, digits));
        text_ += written;
        if (written.find_first_of(".e") == std::string_view::npos) text_ += ".0";
    }

    // The same for numbers that often come several times in a row, which are then copied.
    void real_again(double number) {
        if (std::isfinite(number) && number == repeated_) return raw(repeated_text_);
        const std::size_t start = text_.size();
        real(number);
        repeated_ = number;
        repeated_text_.assign(text_, start);
    }

    // UTF-8 in quotes.
    void quoted(std::string_view letters) {
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

  private:
    static std::size_t digits_of(double number, char (&digits)[32]) {
#if defined(__cpp_lib_to_chars)
        return static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits);
#else  // a library that cannot do it for reals: seventeen digits read back as the same number too
        return static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%.17g", number));
#endif
    }

    std::string text_, repeated_text_;
    double repeated_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace excalibr
