#include "http2/api.hpp"

#include <dlfcn.h>

#include <mutex>
#include <stdexcept>

namespace engine::http2 {

namespace {

constexpr const char* usual_name = "libnghttp2.so.14";

}  // namespace

const Api& Api::open(const std::string& path) {
  static std::mutex mutex;
  static std::unique_ptr<const Api> opened;  // guarded by mutex
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened.reset(new Api(path.empty() ? usual_name : path));
  return *opened;
}

Api::Api(const std::string& name) : path(name) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error("HTTP/2 needs libnghttp2: " + std::string(dlerror()));
  const auto find = [&]<typename Function>(Function& function, const std::string& symbol) {
    function = reinterpret_cast<Function>(dlsym(library, ("nghttp2_" + symbol).c_str()));
  };
  const auto need = [&]<typename Function>(Function& function, const std::string& symbol) {
    find(function, symbol);
    if (function == nullptr)
      throw std::runtime_error("libnghttp2 " + name + " lacks the function nghttp2_" + symbol);
  };
  need(version, "version");
  need(strerror, "strerror");
  need(callbacks_new, "session_callbacks_new");
  need(callbacks_del, "session_callbacks_del");
  need(set_on_begin_headers, "session_callbacks_set_on_begin_headers_callback");
  need(set_on_header, "session_callbacks_set_on_header_callback");
  need(set_on_frame_recv, "session_callbacks_set_on_frame_recv_callback");
  need(set_on_data_chunk_recv, "session_callbacks_set_on_data_chunk_recv_callback");
  need(set_on_stream_close, "session_callbacks_set_on_stream_close_callback");
  need(set_send_data, "session_callbacks_set_send_data_callback");
  need(set_data_read_length, "session_callbacks_set_data_source_read_length_callback");
  need(option_new, "option_new");
  need(option_no_auto_window_update, "option_set_no_auto_window_update");
  need(option_max_outbound_ack, "option_set_max_outbound_ack");
  need(option_max_settings, "option_set_max_settings");
  find(option_stream_reset_rate_limit, "option_set_stream_reset_rate_limit");
  find(option_max_continuations, "option_set_max_continuations");
  find(option_no_closed_streams, "option_set_no_closed_streams");
  need(server_new, "session_server_new2");
  need(client_new, "session_client_new2");
  need(session_del, "session_del");
  need(mem_recv, "session_mem_recv");
  need(mem_send, "session_mem_send");
  need(want_read, "session_want_read");
  need(want_write, "session_want_write");
  need(resume_data, "session_resume_data");
  need(consume_connection, "session_consume_connection");
  need(consume_stream, "session_consume_stream");
  need(set_local_window, "session_set_local_window_size");
  need(stream_user, "session_get_stream_user_data");
  need(submit_settings, "submit_settings");
  need(submit_response, "submit_response");
  need(submit_request, "submit_request");
  need(submit_trailer, "submit_trailer");
  need(submit_rst_stream, "submit_rst_stream");
  need(submit_goaway, "submit_goaway");
  need(last_stream, "session_get_last_proc_stream_id");
}

void check(const Api& api, long code, const char* what) {
  if (code >= 0) return;
  throw std::runtime_error(std::string("HTTP/2: ") + what +
                           " failed: " + api.strerror(static_cast<int>(code)));
}

}  // namespace engine::http2
