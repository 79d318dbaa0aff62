#include "kernels/emulator/frontend/headers.h"

#include <sstream>

#include "kernels/emulator/frontend/scratch.h"

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

/// Names in a folder, without their common ending, and the headers of the emulator that serve them. <> is the standard library's
/// of the same name.
struct Served {
    const char *folder, *ending, *names, *headers;
};
constexpr Served kServed[] = {
    {"", ".h",
     "cuda_device_runtime_api device_atomic_functions device_functions device_launch_parameters math_functions "
     "texture_fetch_functions",
     "include/cuda_runtime.h"},
    {"", ".h", "builtin_types cuda_profiler_api device_types", "include/cuda_runtime_api.h"},
    {"", ".h", "vector_functions", "include/vector_types.h"},
    {"", ".h", "channel_descriptor", "include/texture_types.h"},
    {"", ".h", "cublas_api", "include/cublas_v2.h"},
    {"", ".h", "cuda_pipeline_primitives", "include/cuda_pipeline.h"},
    {"", ".h", "host_defines crt/host_defines", "include/driver_types.h"},
    {"nvtx3/", ".h", "nvToolsExt nvToolsExtCudaRt", "include/nvToolsExt.h"},
    {"cooperative_groups/", ".h", "scan", "include/cooperative_groups/reduce.h"},
    {"cuda/std/", "",
     "algorithm array bit cassert chrono climits cmath complex cstddef cstdint functional limits optional span tuple type_traits "
     "utility",
     "<> cuda/scopes.h"},
    {"cuda/std/", "", "atomic", "include/cuda/atomic"},
    {"cuda/std/", "", "barrier", "include/cuda/barrier"},
    {"thrust/", ".h", "device_vector host_vector device_allocator universal_vector", "thrust/vectors.h"},
    {"thrust/", ".h",
     "device_ptr device_reference device_malloc device_free device_new device_delete memory device_malloc_allocator "
     "iterator/counting_iterator iterator/constant_iterator iterator/transform_iterator iterator/zip_iterator "
     "iterator/iterator_traits iterator/iterator_adaptor iterator/iterator_facade tuple pair distance advance",
     "thrust/iterators.h"},
    {"thrust/", ".h", "functional zip_function detail/config", "thrust/functional.h"},
    {"thrust/", ".h",
     "execution_policy system/cuda/execution_policy system/cpp/execution_policy system/omp/execution_policy system_error "
     "system/system_error system/cuda/error version",
     "thrust/execution.h"},
    {"thrust/", ".h",
     "copy fill sequence tabulate generate for_each transform replace gather scatter swap reverse transform_reduce reduce "
     "inner_product "
     "count find logical equal extrema uninitialized_copy uninitialized_fill scan transform_scan adjacent_difference "
     "remove "
     "partition unique binary_search merge sort",
     "thrust/vectors.h thrust/sorts.h"},
    {"thrust/", ".h",
     "random random/linear_congruential_engine random/uniform_real_distribution random/uniform_int_distribution "
     "random/normal_distribution",
     "thrust/random.h"},
    {"cub/", ".cuh", "cub", "cub/block.h cub/device.h"},
    {"cub/", ".cuh",
     "block/block_reduce block/block_scan block/block_load block/block_store block/block_radix_sort warp/warp_reduce "
     "warp/warp_scan "
     "util_ptx util_type thread/thread_operators",
     "cub/block.h"},
    {"cub/", ".cuh",
     "device/device_reduce device/device_scan device/device_radix_sort device/device_select util_allocator "
     "util_device "
     "iterator/counting_input_iterator iterator/constant_input_iterator iterator/transform_input_iterator",
     "cub/device.h cub/block.h"},
};

/// Headers of what is not emulated, and what to do instead.
struct RefusedHeaders {
    const char *names, *library, *advice;
};
constexpr RefusedHeaders kRefused[] = {
    {"cudnn.h cudnn_v9.h cudnn_frontend.h", "cuDNN", "leave out what needs it"},
    {"cufft.h cufftXt.h cufftw.h", "cuFFT", "use a kernel of one's own"},
    {"cusparse.h cusparse_v2.h cusparseLt.h", "cuSPARSE", "use a kernel of one's own"},
    {"cusolverDn.h cusolverSp.h cusolverRf.h cusolverMg.h", "cuSOLVER", "use a kernel of one's own"},
    {"cublasXt.h cublas.h", "cuBLAS's first interface and cuBLASXt", "include cublas_v2.h"},
    {"nccl.h", "NCCL", "run on one device"},
    {"nvml.h", "NVML", "leave out what asks the driver"},
    {"nvrtc.h nvJitLink.h", "NVRTC", "compile the kernel with the program"},
    {"cuda_fp8.h cuda_fp8.hpp cuda_fp6.h cuda_fp6.hpp cuda_fp4.h cuda_fp4.hpp", "arithmetic in 8, 6 and 4 bits",
     "use cuda_fp16.h or cuda_bf16.h"},
    {"npp.h nppi.h nppcore.h npps.h", "NPP", "use a kernel of one's own"},
    {"nvjpeg.h nvcuvid.h cuviddec.h nvEncodeAPI.h", "decoding of pictures and video", "leave out what needs it"},
    {"cuda_gl_interop.h cudaGL.h cuda_d3d11_interop.h cuda_vdpau_interop.h cuda_egl_interop.h cudaEGL.h",
     "exchange with graphics", "leave out what draws"},
    {"cupti.h", "CUPTI", "use --cost"},
    {"cudss.h cutensor.h custatevec.h", "this library", "use a kernel of one's own"},
    {"cutlass/cutlass.h cutlass/gemm/device/gemm.h cutlass/numeric_types.h cute/tensor.hpp", "CUTLASS",
     "use mma.sync in inline PTX, or WMMA"},
    {"curand.h curand_mtgp32.h curand_mtgp32_host.h curand_mtgp32_kernel.h", "the host's part of cuRAND", "use curand_kernel.h"},
    {"thrust/async/copy.h thrust/async/for_each.h thrust/async/reduce.h thrust/async/scan.h thrust/async/sort.h "
     "thrust/async/transform.h thrust/future.h",
     "thrust::async", "use the algorithm with thrust::cuda::par_nosync.on(stream)"},
    {"thrust/set_operations.h", "Thrust's set operations", "use thrust::merge, or a kernel of one's own"},
    {"thrust/mr/allocator.h thrust/mr/memory_resource.h thrust/mr/pool.h", "Thrust's memory resources", "use cudaMalloc"},
    {"cub/block/block_exchange.cuh cub/block/block_histogram.cuh cub/block/block_discontinuity.cuh cub/block/block_shuffle.cuh "
     "cub/block/block_adjacent_difference.cuh cub/block/block_merge_sort.cuh cub/warp/warp_merge_sort.cuh "
     "cub/warp/warp_exchange.cuh "
     "cub/device/device_partition.cuh cub/device/device_segmented_sort.cuh cub/device/device_segmented_radix_sort.cuh "
     "cub/device/device_spmv.cuh cub/device/device_histogram.cuh cub/device/device_run_length_encode.cuh "
     "cub/device/device_segmented_reduce.cuh cub/device/device_merge_sort.cuh",
     "this part of CUB", "use cub::BlockReduce, BlockScan, BlockLoad, BlockStore, BlockRadixSort, or a Device algorithm"},
};

std::string served_text(const std::string& name, const char* headers) {
    std::string text = "#pragma once\n";
    std::istringstream words(headers);
    for (std::string header; words >> header;)
        text += "#include " + (header == "<>" ? "<" + name + ">" : "\"kernels/emulator/" + header + "\"") + "\n";
    return text;
}
std::string refused_text(std::string_view name, const RefusedHeaders& refused) {
    return "#error \"" + std::string(name) + ": " + refused.library + " is not emulated; " + refused.advice + "\"\n";
}

/// Calls visit(name, text) for each header until it says true.
template <class Visit>
void each_header(Visit&& visit) {
    for (const Served& served : kServed) {
        std::istringstream names(served.names);
        for (std::string name; names >> name;)
            if (visit(served.folder + name + served.ending, served_text(name, served.headers))) return;
    }
    if (visit("thrust/complex.h",
              "#pragma once\n#include <complex>\nnamespace thrust {\nusing std::abs;\nusing std::arg;\nusing std::complex;\n"
              "using std::conj;\nusing std::exp;\nusing std::norm;\nusing std::polar;\nusing std::pow;\nusing std::sqrt;\n}\n"))
        return;
    for (const RefusedHeaders& refused : kRefused) {
        std::istringstream names(refused.names);
        for (std::string name; names >> name;)
            if (visit(name, refused_text(name, refused))) return;
    }
}

}  // namespace

std::string library_header(std::string_view name) {
    std::string found;
    each_header([&](const std::string& known, const std::string& text) {
        if (known == name) found = text;
        return known == name;
    });
    return found;
}

void write_library_headers(const fs::path& folder) {
    each_header([&](const std::string& name, const std::string& text) {
        fs::create_directories((folder / name).parent_path());
        write_text(folder / name, text);
        return false;
    });
}

}  // namespace heddle::emulator::frontend
