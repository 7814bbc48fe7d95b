// SPDX-License-Identifier: Apache-2.0
#include "io/compression.h"

#include <pando/base/error.h>

#include <algorithm>
#include <array>
#include <limits>

#ifdef PANDO_WITH_ZLIB
#include <zlib.h>
#endif

namespace pando {

#ifdef PANDO_WITH_ZLIB

namespace {

constexpr std::size_t buffer_size = 1 << 16;

// zlib's sizes are of 32 bits.
unsigned zlib_size(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(size, std::numeric_limits<unsigned>::max()));
}

// How zlib is told which wrapping to expect.
int window_bits(Wrapping wrapping) {
  return wrapping == Wrapping::gzip ? 16 + MAX_WBITS : wrapping == Wrapping::zlib ? MAX_WBITS : -MAX_WBITS;
}

void check(int code, const char* call) {
  if (code == Z_MEM_ERROR)
    throw Error(std::string(call) + ": there is not enough memory for the compression; free some");
  if (code != Z_OK) throw InternalError(std::string(call) + " failed");
}

}  // namespace

bool can_compress() { return true; }

struct Inflater::Stream {
  Stream(Wrapping around, Refill source) : wrapping(around), refill(std::move(source)) {
    check(inflateInit2(&z, window_bits(wrapping)), "inflateInit2");
  }
  ~Stream() { inflateEnd(&z); }

  // Whether there is input left.
  bool fill_input() {
    if (z.avail_in > 0) return true;
    z.next_in = reinterpret_cast<Bytef*>(input.data());
    z.avail_in = zlib_size(refill(input));
    return z.avail_in > 0;
  }
  // A .gz file may hold several members, one after the other; a ZIP entry or a PNG file holds only one.
  State end_member() {
    ended = !fill_input();
    if (ended) return State::good;
    if (wrapping != Wrapping::gzip) return State::damaged;
    check(inflateReset(&z), "inflateReset");
    return State::good;
  }

  Wrapping wrapping;
  Refill refill;
  z_stream z = {};
  std::array<std::byte, buffer_size> input;
  bool ended = false;
};

Inflater::Inflater(Wrapping wrapping, Refill refill) : stream_(std::make_unique<Stream>(wrapping, std::move(refill))) {}

Inflater::~Inflater() = default;

std::size_t Inflater::read(std::span<std::byte> out) {
  z_stream& z = stream_->z;
  std::size_t done = 0;
  while (done < out.size() && !stream_->ended && state_ == State::good) {
    if (!stream_->fill_input()) {
      state_ = State::too_short;
      break;
    }
    z.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    z.avail_out = zlib_size(out.size() - done);
    const unsigned room = z.avail_out;
    const int code = inflate(&z, Z_NO_FLUSH);
    done += room - z.avail_out;
    if (code == Z_STREAM_END) state_ = stream_->end_member();
    else if (code != Z_OK && code != Z_BUF_ERROR) state_ = State::damaged;
  }
  return done;
}

struct Gzipper::Stream {
  explicit Stream(Write sink) : write(std::move(sink)) {
    constexpr int memory = 8;
    check(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, memory, Z_DEFAULT_STRATEGY),
          "deflateInit2");
  }
  ~Stream() { deflateEnd(&z); }

  void compress(std::span<const std::byte> bytes, int flush) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    z.avail_in = zlib_size(bytes.size());
    do {
      z.next_out = reinterpret_cast<Bytef*>(output.data());
      z.avail_out = buffer_size;
      deflate(&z, flush);
      write(std::span(output).first(buffer_size - z.avail_out));
    } while (z.avail_out == 0);
  }

  Write write;
  z_stream z = {};
  std::array<std::byte, buffer_size> output;
};

Gzipper::Gzipper(Write write) : stream_(std::make_unique<Stream>(std::move(write))) {}

Gzipper::~Gzipper() = default;

void Gzipper::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = zlib_size(bytes.size());
    stream_->compress(bytes.first(piece), Z_NO_FLUSH);
    bytes = bytes.subspan(piece);
  }
}

void Gzipper::finish() { stream_->compress({}, Z_FINISH); }

#else

struct Inflater::Stream {};
struct Gzipper::Stream {};

bool can_compress() { return false; }

Inflater::Inflater(Wrapping, Refill) { throw InternalError("an Inflater without zlib"); }
Inflater::~Inflater() = default;
std::size_t Inflater::read(std::span<std::byte>) { return 0; }

Gzipper::Gzipper(Write) { throw InternalError("a Gzipper without zlib"); }
Gzipper::~Gzipper() = default;
void Gzipper::write(std::span<const std::byte>) {}
void Gzipper::finish() {}

#endif

}  // namespace pando
