// SPDX-License-Identifier: Apache-2.0
// One request under way by libcurl: its handle, what of it has gone out, and what has come back.
// Include it where transfers are driven (src/export/transport.cc).
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/export/endpoint.h"
#include "src/export/request_body.h"
#include "src/export/response.h"

namespace lens::exporting {

struct FreeHandle {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, FreeHandle>;

struct Transfer {
  /// Everything but HTTP's version and whom to trust. Borrows all but the body; `sockets` gets those that libcurl
  /// opens. Throws std::bad_alloc.
  Transfer(std::uint64_t id, RequestBody body, const OtlpConfig& config, const Endpoint& endpoint,
           const curl_slist* headers, std::vector<int>& sockets);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Forgets what has come of it, to be sent once more.
  void rewind();
  /// What has become of it, by libcurl's code; once.
  Response settle(int code);

  std::uint64_t id;
  Handle handle;
  RequestBody body;
  std::size_t sent_bytes = 0, received_bytes = 0;
  Response response = {};
  char error[CURL_ERROR_SIZE] = {};
  bool by_kept_connection = false;  // HTTP/2 without TLS, by libcurl 7.88
  bool trusts_directory = false, has_tried_both = false;
  int first_code = 0;  // by those who were trusted at first
  char first_error[CURL_ERROR_SIZE] = {};

 private:
  static std::size_t on_read(char* to, std::size_t, std::size_t room, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);
  static std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* self);
  static std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* self);
  static int on_note(CURL*, curl_infotype type, char* bytes, std::size_t size, void* self);
  std::string why_unanswered(int code) const;
};

}  // namespace lens::exporting
