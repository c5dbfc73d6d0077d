# SPDX-License-Identifier: Apache-2.0
"""Debian's libraries as Bazel targets: headers from the system's include path, linked shared."""

def _library(name, links, defines = [], includes = [], copts = []):
    native.new_local_repository(
        name = name,
        path = "/usr/share/bazel/platforms",  # nothing is read from it: the compiler finds the headers itself
        build_file_content = """
cc_library(
    name = "{name}",
    defines = {defines},
    linkopts = {links},
    visibility = ["//visibility:public"],
)
""".format(name = name, links = repr(links), defines = repr(defines)),
    )

def system_libraries():
    _library("absl", ["-Wl,--as-needed"] + ["-labsl_" + l for l in [
        "status", "statusor", "synchronization", "hash", "raw_hash_set", "city", "low_level_hash",
        "strings", "strings_internal", "str_format_internal", "time", "time_zone", "civil_time", "int128", "cord",
        "random_distributions", "random_seed_sequences", "random_internal_pool_urbg", "random_internal_randen",
        "random_internal_randen_hwaes", "random_internal_randen_hwaes_impl", "random_internal_randen_slow",
        "random_internal_platform", "random_internal_seed_material", "random_seed_gen_exception",
        "hashtablez_sampler", "base", "spinlock_wait", "bad_optional_access", "bad_variant_access", "throw_delegate",
        "raw_logging_internal", "strerror",
    ]])
    _library("protobuf", ["-lprotobuf", "-pthread"])
    _library("grpc", ["-Wl,--as-needed", "-lgrpc++_reflection", "-lgrpc++", "-lgrpc", "-lgpr"])
    _library("spdlog", ["-lspdlog", "-lfmt", "-pthread"], ["SPDLOG_SHARED_LIB", "SPDLOG_COMPILED_LIB", "SPDLOG_FMT_EXTERNAL"])
    _library("sqlite3", ["-lsqlite3"])
    _library("yaml_cpp", ["-lyaml-cpp"])
    _library("cli11", [])
    _library("nlohmann_json", [])
    _library("hwloc", ["-lhwloc"])
    _library("dl", ["-ldl"])
    _library("zlib", ["-lz"])
    _library("gtest", ["-lgmock", "-lgtest", "-pthread"])
    _library("gtest_main", ["-lgmock_main", "-lgmock", "-lgtest", "-pthread"])
    _library("benchmark", ["-lbenchmark", "-pthread"])
    # Which BLAS it is, is the system's choice (update-alternatives); OpenBLAS is the one to have.
    _library("blas", ["-lblas"])
    _library("torch", ["-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"], ["USE_C10D_GLOO"])
