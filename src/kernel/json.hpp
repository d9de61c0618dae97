// Numbers and text written as JSON, one after the other, into one piece of memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace excalibr {

class JsonText {
  public:
    const std::string& text() const { return text_; }
    void reserve(std::size_t size) { text_.reserve(size); }
    void raw(std::string_view written) { text_ += written; }
    void whole(std::int64_t number);

    // The shortest text that reads back as the same number, with a point or an exponent; null where JSON has none.
    void real(double number);

    // The same for numbers that often come several times in a row, which are then copied.
    void real_again(double number);

    // UTF-8 in quotes.
    void quoted(std::string_view letters);

  private:
    std::string text_, repeated_text_;
    double repeated_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace excalibr
