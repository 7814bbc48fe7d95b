// libcurl, behind one file: what an address holds.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pando {

// Whether Pando was built with libcurl.
bool can_download();

// The bytes so far, and all that are announced, or 0 if nobody says how many.
using DownloadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// How slow a server may be: it is given up when fewer bytes a second came for that many seconds.
struct Patience {
  long bytes_per_second = 1000;
  long seconds = 30;
};

// What is at `address` (http, https or file), followed through redirections. Throws Error, "ADDRESS: what went wrong":
// after 10 s without a connection, when the patience is at its end, and if there is more than `limit`.
std::vector<std::byte> download(const std::string& address, std::uint64_t limit, const DownloadProgress& progress,
                                const Patience& patience = {});

}  // namespace pando
