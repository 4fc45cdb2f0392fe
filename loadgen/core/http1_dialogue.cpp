#include "http1_dialogue.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace loadgen {

namespace {

constexpr std::size_t longest_head = 1 << 16;
constexpr std::size_t longest_reason = 200;
constexpr std::string_view end_of_head = "\r\n\r\n";

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : int{c}; };
    return lower(x) == lower(y);
  });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

template <typename Number>
Number number(std::string_view text, const char* what) {
  Number found{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::runtime_error("the answer's " + std::string(what) +
                             " is not a number: " + std::string(text.substr(0, 40)));
  return found;
}

}  // namespace

void Http1Dialogue::send(const Query& query) {
  query_ = query;
  is_written_ = false;
  head_.clear();
  in_body_ = false;
  reason_.clear();
  compared_ = prepared_.compared(query.request);
}

void Http1Dialogue::write(Output& output) {
  if (is_written_) return;
  is_written_ = true;
  const std::string& request = prepared_.requests[query_->request].bytes;
  output.refer(reinterpret_cast<const std::uint8_t*>(request.data()), request.size());
}

void Http1Dialogue::forget(std::uint32_t row) {
  if (!query_ || query_->row != row) return;
  query_.reset();
  is_last_ = true;  // its answer would be taken for the next one's
}

void Http1Dialogue::receive(const std::uint8_t* data, std::size_t bytes) {
  if (!query_) throw std::runtime_error("the server answers what nobody asked");
  if (!in_body_) {
    const std::size_t used = take_head(data, bytes);
    data += used;
    bytes -= used;
    if (!in_body_) return;
  }
  take_body(data, bytes);
}

std::size_t Http1Dialogue::take_head(const std::uint8_t* data, std::size_t bytes) {
  const std::size_t before = head_.size();
  head_.append(reinterpret_cast<const char*>(data), bytes);
  const std::size_t from = before < end_of_head.size() ? 0 : before - end_of_head.size();
  const std::size_t end = head_.find(end_of_head, from);
  if (end == std::string::npos) {
    if (head_.size() > longest_head) throw std::runtime_error("the answer's head has no end");
    return bytes;
  }
  head_.resize(end);
  read_head(head_);
  in_body_ = true;
  return end + end_of_head.size() - before;
}

void Http1Dialogue::read_head(std::string_view head) {
  has_length_ = is_chunked_ = false;
  left_ = 0;
  std::size_t end = head.find("\r\n");
  const std::string_view first = head.substr(0, end);
  if (first.size() < 12 || !first.starts_with("HTTP/1."))
    throw std::runtime_error("the peer does not speak HTTP/1.1");
  status_ = number<int>(first.substr(9, 3), "status");
  while (end != std::string_view::npos) {
    head.remove_prefix(end + 2);
    end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
      read_field(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
}

void Http1Dialogue::read_field(std::string_view name, std::string_view value) {
  if (same(name, "content-length")) {
    left_ = number<std::size_t>(value, "length");
    has_length_ = true;
  } else if (same(name, "transfer-encoding")) {
    is_chunked_ = true;
  } else if (same(name, "connection") && same(value, "close")) {
    is_last_ = true;
  }
}

void Http1Dialogue::take_body(const std::uint8_t* data, std::size_t bytes) {
  if (is_chunked_ || !has_length_) {
    is_last_ = true;
    return end(is_chunked_ ? "CHUNKED_ANSWER" : "ANSWER_WITHOUT_LENGTH",
               "answers are read by their content-length alone");
  }
  if (bytes > left_) throw std::runtime_error("the answer is longer than it says");
  left_ -= bytes;
  if (status_ == 200)
    compared_.add(data, bytes);
  else if (reason_.size() < longest_reason)
    reason_.append(reinterpret_cast<const char*>(data), std::min(bytes, longest_reason));
  if (left_ > 0) return;
  if (status_ != 200) return end("HTTP " + std::to_string(status_), reason_);
  end(compared_.end() ? "" : different_answer, "");
}

void Http1Dialogue::end(std::string_view kind, std::string_view message) {
  const std::uint32_t row = query_->row;
  query_.reset();
  sink_.answered(row, kind, message);
}

std::vector<std::uint32_t> Http1Dialogue::in_flight() const {
  if (!query_) return {};
  return {query_->row};
}

}  // namespace loadgen
