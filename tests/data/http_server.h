// SPDX-License-Identifier: Apache-2.0
// A server on this machine that answers what a test wants it to.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace pando {

class HttpServer {
 public:
  HttpServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(socket_, 16) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no socket to listen on");
    address_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() { stop(); }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // "http://127.0.0.1:PORT".
  const std::string& address() const { return address_; }
  // Answers requests for `path` with 200 and `body`, which is announced to be `missing` bytes longer than it is.
  void answer(const std::string& path, const std::string& body, std::size_t missing = 0) {
    answer_raw(path, "200 OK\r\nContent-Length: " + std::to_string(body.size() + missing) + "\r\n\r\n" + body);
  }
  void redirect(const std::string& path, const std::string& to) {
    answer_raw(path, "302 Found\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n");
  }
  // Announces `body`, and sends one byte of it after the other with pauses, until the client goes.
  void drip(const std::string& path, const std::string& body) {
    answer(path, body);
    const std::lock_guard lock(mutex_);
    dripping_.insert(path);
  }
  int requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // Connections are refused from then on.
  void stop() {
    if (!thread_.joinable()) return;
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }

 private:
  void answer_raw(const std::string& path, const std::string& text) {
    const std::lock_guard lock(mutex_);
    answers_[path] = text;
  }
  void serve() {
    for (int client; (client = accept(socket_, nullptr, nullptr)) >= 0; close(client)) {
      std::string request;
      char piece[1024];
      for (ssize_t got;
           request.find("\r\n\r\n") == std::string::npos && (got = recv(client, piece, sizeof piece, 0)) > 0;)
        request.append(piece, static_cast<std::size_t>(got));
      const std::size_t from = request.find(' ') + 1;
      const std::string path = request.substr(from, request.find(' ', from) - from);
      const std::string reply = "HTTP/1.1 " + find_answer(path);
      const std::size_t at_once = drips(path) ? reply.find("\r\n\r\n") + 5 : reply.size();
      for (std::size_t sent = 0; sent < reply.size();) {
        const std::size_t piece = sent < at_once ? at_once - sent : 1;
        if (sent >= at_once) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const ssize_t got = send(client, reply.data() + sent, piece, MSG_NOSIGNAL);
        if (got <= 0) break;
        sent += static_cast<std::size_t>(got);
      }
    }
  }
  bool drips(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return dripping_.contains(path);
  }
  std::string find_answer(const std::string& path) {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const auto found = answers_.find(path);
    return found == answers_.end() ? "404 Not Found\r\nContent-Length: 0\r\n\r\n" : found->second;
  }

  int socket_;
  std::string address_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::set<std::string> dripping_;
  int requests_ = 0;
  std::thread thread_;
};

}  // namespace pando
