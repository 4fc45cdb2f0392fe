// libnghttp2's functions, found when the library is opened: no headers, nothing to link against.
#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace engine::http2 {

// Opaque to us, too.
using Session = struct OpaqueNghttp2Session;
using Callbacks = struct OpaqueNghttp2Callbacks;
using Option = struct OpaqueNghttp2Option;

/// A header field: nghttp2_nv. The library copies it unless a flag says otherwise.
struct Field {
  const std::uint8_t* name;
  const std::uint8_t* value;
  std::size_t name_bytes, value_bytes;
  std::uint8_t flags;
};
/// nghttp2_settings_entry.
struct Setting {
  std::int32_t id;
  std::uint32_t value;
};
/// nghttp2_frame_hd, which every frame begins with. We look at no more of a frame.
struct FrameHeader {
  std::size_t length;
  std::int32_t stream;
  std::uint8_t type;
  std::uint8_t flags;
  std::uint8_t reserved;
};
/// What is sent on a stream: nghttp2_data_provider.
struct DataProvider {
  void* source;
  ssize_t (*read)(Session*, std::int32_t stream, std::uint8_t* buffer, std::size_t most,
                  std::uint32_t* flags, void** source, void* user);
};
/// nghttp2_info.
struct Version {
  int age;
  int number;
  const char* text;
  const char* protocol;
};

namespace frame {
inline constexpr std::uint8_t data = 0, headers = 1, settings = 4, goaway = 7;
inline constexpr std::uint8_t end_stream = 1;  ///< a flag
}  // namespace frame

namespace setting {
inline constexpr std::int32_t enable_push = 2, max_concurrent_streams = 3, initial_window_size = 4,
                              max_frame_size = 5, max_header_list_size = 6;
}  // namespace setting

/// HTTP/2's error codes (RFC 9113, section 7).
namespace error {
inline constexpr std::uint32_t none = 0, refused_stream = 7, cancel = 8;
}  // namespace error

/// What read callbacks say beside bytes: nghttp2_data_flag.
namespace data_flag {
inline constexpr std::uint32_t eof = 1, no_end_stream = 2, no_copy = 4;
}  // namespace data_flag

/// What callbacks return: nghttp2_error.
namespace status {
inline constexpr int ok = 0, deferred = -508, callback_failure = -902;
}  // namespace status

/// The functions that we use, of libnghttp2 1.43 (2021) and later. Those that a version lacks are
/// null where that is said.
struct Api {
  const Version* (*version)(int least);
  const char* (*strerror)(int code);

  int (*callbacks_new)(Callbacks**);
  void (*callbacks_del)(Callbacks*);
  void (*set_on_begin_headers)(Callbacks*, int (*)(Session*, const FrameHeader*, void* user));
  void (*set_on_header)(Callbacks*,
                        int (*)(Session*, const FrameHeader*, const std::uint8_t* name,
                                std::size_t name_bytes, const std::uint8_t* value,
                                std::size_t value_bytes, std::uint8_t flags, void* user));
  void (*set_on_frame_recv)(Callbacks*, int (*)(Session*, const FrameHeader*, void* user));
  void (*set_on_data_chunk_recv)(Callbacks*,
                                 int (*)(Session*, std::uint8_t flags, std::int32_t stream,
                                         const std::uint8_t* data, std::size_t bytes, void* user));
  void (*set_on_stream_close)(Callbacks*, int (*)(Session*, std::int32_t stream,
                                                  std::uint32_t error, void* user));
  /// For data that a read callback marked `no_copy`: sends the frame's header and the bytes.
  void (*set_send_data)(Callbacks*, int (*)(Session*, FrameHeader*, const std::uint8_t* header,
                                            std::size_t bytes, void** source, void* user));
  /// What it says becomes the largest frame of data that is sent on that stream.
  void (*set_data_read_length)(Callbacks*,
                               ssize_t (*)(Session*, std::uint8_t type, std::int32_t stream,
                                           std::int32_t connection_window,
                                           std::int32_t stream_window, std::uint32_t max_frame,
                                           void* user));

  int (*option_new)(Option**);
  void (*option_no_auto_window_update)(Option*, int);
  void (*option_max_outbound_ack)(Option*, std::size_t);
  void (*option_max_settings)(Option*, std::size_t);
  void (*option_stream_reset_rate_limit)(Option*, std::uint64_t burst,
                                         std::uint64_t rate);  ///< may be null
  void (*option_max_continuations)(Option*, std::size_t);      ///< may be null
  void (*option_no_closed_streams)(Option*, int);              ///< may be null

  int (*server_new)(Session**, const Callbacks*, void* user, const Option*);
  int (*client_new)(Session**, const Callbacks*, void* user, const Option*);
  void (*session_del)(Session*);
  ssize_t (*mem_recv)(Session*, const std::uint8_t* data, std::size_t bytes);
  ssize_t (*mem_send)(Session*, const std::uint8_t** data);
  int (*want_read)(Session*);
  int (*want_write)(Session*);
  int (*resume_data)(Session*, std::int32_t stream);
  int (*consume_connection)(Session*, std::size_t bytes);
  int (*consume_stream)(Session*, std::int32_t stream, std::size_t bytes);
  int (*set_local_window)(Session*, std::uint8_t flags, std::int32_t stream, std::int32_t bytes);
  void* (*stream_user)(Session*, std::int32_t stream);

  int (*submit_settings)(Session*, std::uint8_t flags, const Setting*, std::size_t count);
  int (*submit_response)(Session*, std::int32_t stream, const Field*, std::size_t count,
                         const DataProvider*);
  std::int32_t (*submit_request)(Session*, const void* priority, const Field*, std::size_t count,
                                 const DataProvider*, void* stream_user);
  int (*submit_trailer)(Session*, std::int32_t stream, const Field*, std::size_t count);
  int (*submit_rst_stream)(Session*, std::uint8_t flags, std::int32_t stream, std::uint32_t error);
  int (*submit_goaway)(Session*, std::uint8_t flags, std::int32_t last_stream, std::uint32_t error,
                       const std::uint8_t* debug, std::size_t bytes);
  std::int32_t (*last_stream)(Session*);

  /// Opens the library of that path, or the usual one if it is empty; the first time. Throws
  /// std::runtime_error saying what was tried and why it failed. Never closed.
  [[nodiscard]] static const Api& open(const std::string& path = {});

  /// Where it was found.
  std::string path;

 private:
  explicit Api(const std::string& path);
};

/// Throws std::runtime_error with the library's words unless `code` is 0 or more.
void check(const Api& api, long code, const char* what);

}  // namespace engine::http2
