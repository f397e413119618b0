// SPDX-License-Identifier: Apache-2.0
#include "tests/export/grpc_peer.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <mutex>

namespace lens::tests {
namespace {

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  static_cast<void>(buffer.Dump(&slices));
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

std::shared_ptr<grpc::ServerCredentials> credentials_of(const GrpcPeerOptions& options) {
  if (!options.tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(options.client_authority.empty()
                                            ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                            : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = options.client_authority;
  tls.pem_key_cert_pairs.push_back({options.key, options.certificate});
  return grpc::SslServerCredentials(tls);
}

}  // namespace

struct GrpcPeer::Server : grpc::CallbackGenericService {
  struct Call : grpc::ServerGenericBidiReactor {
    Call(Server& server, grpc::GenericCallbackServerContext& context) : server_(server), context_(context) {
      StartRead(&in_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status(grpc::StatusCode::INTERNAL, "no message"));
      GrpcRequest request{context_.method(), {}, bytes_of(in_), context_.deadline() - std::chrono::system_clock::now()};
      for (const auto& [name, value] : context_.client_metadata())
        request.metadata.emplace(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
      const GrpcAnswer answer = server_.answer(request);
      if (answer.status != 0)
        return Finish(grpc::Status(static_cast<grpc::StatusCode>(answer.status), answer.error, answer.details));
      if (answer.compressed) context_.set_compression_algorithm(GRPC_COMPRESS_GZIP);
      const grpc::Slice slice(answer.message);
      out_ = grpc::ByteBuffer(&slice, 1);
      StartWriteAndFinish(&out_, {}, grpc::Status::OK);
    }
    void OnDone() override { delete this; }

    Server& server_;
    grpc::GenericCallbackServerContext& context_;
    grpc::ByteBuffer in_, out_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Call(*this, *context);
  }

  GrpcAnswer answer(const GrpcRequest& request) {
    std::lock_guard lock(mutex);
    requests.push_back(request);
    return script(static_cast<int>(requests.size()) - 1, request);
  }

  Script script;
  std::mutex mutex;
  std::vector<GrpcRequest> requests;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

GrpcPeer::GrpcPeer(Script script, const GrpcPeerOptions& options) : server_(std::make_unique<Server>()) {
  server_->script = std::move(script);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, credentials_of(options), &server_->port);
  builder.SetMaxReceiveMessageSize(options.most_message_bytes);
  builder.RegisterCallbackGenericService(server_.get());
  server_->server = builder.BuildAndStart();
}

GrpcPeer::~GrpcPeer() {
  server_->server->Shutdown(std::chrono::system_clock::now());
  server_->server->Wait();
}

int GrpcPeer::port() const noexcept { return server_->port; }

std::vector<GrpcRequest> GrpcPeer::requests() const {
  std::lock_guard lock(server_->mutex);
  return server_->requests;
}

}  // namespace lens::tests
