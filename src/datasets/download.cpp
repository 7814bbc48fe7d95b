// SPDX-License-Identifier: Apache-2.0
#include "datasets/download.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <exception>
#include <memory>

#ifdef PANDO_WITH_CURL
#include <curl/curl.h>
#endif

namespace pando {

#ifdef PANDO_WITH_CURL

namespace {

struct Transfer {
  std::vector<std::byte> bytes;
  std::uint64_t limit = 0;
  const DownloadProgress& progress;
  // What a callback threw: exceptions must not pass through libcurl.
  std::exception_ptr thrown;
};

extern "C" std::size_t pando_receive(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::byte* first = reinterpret_cast<const std::byte*>(data);
  if (size * count > transfer.limit - transfer.bytes.size()) return 0;
  try {
    transfer.bytes.insert(transfer.bytes.end(), first, first + size * count);
    return size * count;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
}

extern "C" int pando_report(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  try {
    if (done > 0) transfer.progress(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
    return 0;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 1;
  }
}

// libcurl's own words differ from version to version, and say less.
std::string problem(CURL* curl, CURLcode code, const Transfer& transfer, const Patience& patience) {
  long answer = 0;
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return "it is not an http, https or file address";
    case CURLE_COULDNT_RESOLVE_PROXY: return "the proxy's name cannot be resolved";
    case CURLE_COULDNT_RESOLVE_HOST: return "the host's name cannot be resolved";
    case CURLE_COULDNT_CONNECT: return "the host cannot be reached";
    case CURLE_OPERATION_TIMEDOUT:
      if (transfer.bytes.empty()) return "the host does not answer";
      return fmt::format("it came at fewer than {} bytes per second for {} seconds", patience.bytes_per_second,
                         patience.seconds);
    case CURLE_FILE_COULDNT_READ_FILE: return "there is no such file";
    case CURLE_PARTIAL_FILE: return "the connection ended too early";
    case CURLE_WRITE_ERROR: return fmt::format("it has more than {} bytes", transfer.limit);
    case CURLE_HTTP_RETURNED_ERROR:
      curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
      return fmt::format("the host answers {}", answer);
    default: return curl_easy_strerror(code);
  }
}

void restrict_protocols(CURL* curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE});
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
#endif
}

void set_options(CURL* curl, const std::string& address, Transfer& transfer, const Patience& patience) {
  curl_easy_setopt(curl, CURLOPT_URL, address.c_str());
  restrict_protocols(curl);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  // No timeouts by signals: those belong to the program.
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, patience.bytes_per_second);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, patience.seconds);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, pando_receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, pando_report);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

}  // namespace

bool can_download() { return true; }

std::vector<std::byte> download(const std::string& address, std::uint64_t limit, const DownloadProgress& progress,
                                const Patience& patience) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (initialised != CURLE_OK || !curl) throw Error(fmt::format("{}: libcurl cannot be used", address));
  Transfer transfer{.bytes = {}, .limit = limit, .progress = progress, .thrown = {}};
  set_options(curl.get(), address, transfer, patience);
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (code != CURLE_OK) throw Error(fmt::format("{}: {}", address, problem(curl.get(), code, transfer, patience)));
  return std::move(transfer.bytes);
}

#else

bool can_download() { return false; }

std::vector<std::byte> download(const std::string&, std::uint64_t, const DownloadProgress&, const Patience&) {
  throw InternalError("a download without libcurl");
}

#endif

}  // namespace pando
