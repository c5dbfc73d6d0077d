# SPDX-License-Identifier: Apache-2.0
"""C++ from .proto files with Debian's protoc and gRPC plug-in."""

def cc_proto(name, srcs, deps = [], grpc = False, visibility = ["//visibility:public"]):
    """One library `name` of messages, and with grpc=True a second `name`_grpc of services."""
    bases = [s[:-len(".proto")] for s in srcs]
    native.genrule(
        name = name + "_gen",
        srcs = srcs + ["//proto/sinew/v1:all_protos", "//third_party/googleapis:protos"],
        outs = [b + e for b in bases for e in (".pb.h", ".pb.cc")],
        cmd = "protoc -I. -Ithird_party/googleapis --cpp_out=$(GENDIR) " + " ".join(["$(location %s)" % s for s in srcs]),
    )
    native.cc_library(
        name = name,
        srcs = [b + ".pb.cc" for b in bases],
        hdrs = [b + ".pb.h" for b in bases],
        copts = ["-Wno-error", "-w", "-O1"],
        deps = deps + ["@protobuf"],
        visibility = visibility,
    )
    if grpc:
        native.genrule(
            name = name + "_grpc_gen",
            srcs = srcs + ["//proto/sinew/v1:all_protos", "//third_party/googleapis:protos"],
            outs = [b + e for b in bases for e in (".grpc.pb.h", ".grpc.pb.cc")],
            cmd = "protoc -I. -Ithird_party/googleapis --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin " +
                  "--grpc_out=$(GENDIR) " + " ".join(["$(location %s)" % s for s in srcs]),
        )
        native.cc_library(
            name = name + "_grpc",
            srcs = [b + ".grpc.pb.cc" for b in bases],
            hdrs = [b + ".grpc.pb.h" for b in bases],
            copts = ["-w", "-O1"],
            deps = [":" + name] + deps + ["@absl", "@grpc", "@protobuf"],
            visibility = visibility,
        )
