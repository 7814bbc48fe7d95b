// SPDX-License-Identifier: Apache-2.0
// The only file that uses libcurl: it gets what is at an address.
#pragma once
#include <pando/base/function.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pando {

// Whether Pando was built with libcurl.
bool can_download();

// The bytes so far, and the announced total, or 0 if the server does not announce it.
using DownloadProgress = Function<void(std::uint64_t done, std::uint64_t total)>;

// How slow a server may be: the download is given up if fewer bytes per second come for that many seconds.
struct Patience {
  long bytes_per_second = 1000;
  long seconds = 30;
};

// Gets what is at `address` (http, https or file), following redirections. Throws Error, "ADDRESS: what went wrong":
// after 10 s without a connection, if the server is too slow, and if there is more than `limit`.
std::vector<std::byte> download(const std::string& address, std::uint64_t limit, const DownloadProgress& progress,
                                const Patience& patience = {});

}  // namespace pando
