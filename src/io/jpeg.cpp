// SPDX-License-Identifier: Apache-2.0
// libjpeg reports errors to a function that must not return. It leaves by longjmp, which must not jump over
// destructors: only JpegDecoder::guarded() calls libjpeg, with functions whose variables have none.
#include "io/jpeg.h"

#include <fmt/format.h>

#include <array>

#ifdef PANDO_WITH_JPEG
// jpeglib.h needs these first.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>
#endif

namespace pando {

#ifdef PANDO_WITH_JPEG

namespace {

constexpr std::int64_t most_jpeg_pixels = 1 << 26;
// A block of 64 pixels takes at least a bit.
constexpr std::int64_t pixels_of_a_byte = 1024;
// Progressive images have about ten. Each takes the time of the whole image, however short it is.
constexpr int most_scans = 100;

struct JpegErrors {
  // libjpeg knows only this part.
  jpeg_error_mgr base = {};
  std::jmp_buf place = {};
  std::array<char, JMSG_LENGTH_MAX> text = {};
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text.data());
  std::longjmp(errors->place, 1);
}

// libjpeg only warns when data are missing, and makes the rest of the image grey.
void leave_if_damaged(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool damaged =
      code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC;
  if (level < 0 && damaged) leave(info);
}

void leave_after_many_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > most_scans) ERREXIT(info, JERR_BAD_PROGRESSION);
}

class JpegDecoder {
 public:
  explicit JpegDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = leave_if_damaged;
    guarded([](JpegDecoder& self) { jpeg_create_decompress(&self.info_); });
    progress_.progress_monitor = leave_after_many_scans;
    info_.progress = &progress_;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  JpegImage header() {
    JpegImage image;
    if (!guarded([](JpegDecoder& self) {
          jpeg_mem_src(&self.info_, reinterpret_cast<const unsigned char*>(self.bytes_.data()), self.bytes_.size());
          jpeg_read_header(&self.info_, TRUE);
        }))
      return failed();
    image.width = info_.image_width;
    image.height = info_.image_height;
    const std::int64_t held = static_cast<std::int64_t>(bytes_.size()) * pixels_of_a_byte;
    if (image.width > most_jpeg_pixels / image.height)
      image.problem = fmt::format("has {} x {} pixels; 1 to {} are read", image.width, image.height, most_jpeg_pixels);
    else if (image.width * image.height > held)
      image.problem = fmt::format("announces {} x {} pixels, more than its {} bytes can hold", image.width,
                                  image.height, bytes_.size());
    else if (info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK)
      image.problem = "has the four colours of printers (CMYK), not red, green, blue";
    image.channels = info_.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    return image;
  }

  JpegImage decode() {
    JpegImage image = header();
    if (!image.problem.empty()) return image;
    info_.out_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (!guarded([](JpegDecoder& self) { jpeg_start_decompress(&self.info_); })) return failed();
    row_bytes_ = static_cast<std::size_t>(image.width * image.channels);
    image.pixels.resize(row_bytes_ * static_cast<std::size_t>(image.height));
    next_row_ = image.pixels.data();
    if (!guarded([](JpegDecoder& self) {
          while (self.info_.output_scanline < self.info_.output_height)
            self.next_row_ += self.row_bytes_ * jpeg_read_scanlines(&self.info_, &self.next_row_, 1);
          jpeg_finish_decompress(&self.info_);
        }))
      return failed();
    return image;
  }

 private:
  // Returns whether libjpeg had nothing to complain about.
  bool guarded(void (*call)(JpegDecoder&)) {
    if (setjmp(errors_.place) != 0) return false;
    call(*this);
    return true;
  }
  JpegImage failed() const {
    JpegImage image;
    image.problem = fmt::format("is not a whole JPEG image (\"{}\")", errors_.text.data());
    return image;
  }

  std::span<const std::byte> bytes_;
  jpeg_decompress_struct info_ = {};
  JpegErrors errors_;
  jpeg_progress_mgr progress_ = {};
  std::uint8_t* next_row_ = nullptr;
  std::size_t row_bytes_ = 0;
};

}  // namespace

bool can_read_jpeg() { return true; }

JpegImage read_jpeg_header(std::span<const std::byte> bytes) { return JpegDecoder(bytes).header(); }

JpegImage decode_jpeg(std::span<const std::byte> bytes) { return JpegDecoder(bytes).decode(); }

#else

namespace {

JpegImage unreadable() {
  JpegImage image;
  image.problem = "is a JPEG image, and this Pando was built without libjpeg";
  return image;
}

}  // namespace

bool can_read_jpeg() { return false; }

JpegImage read_jpeg_header(std::span<const std::byte>) { return unreadable(); }

JpegImage decode_jpeg(std::span<const std::byte>) { return unreadable(); }

#endif

}  // namespace pando
