/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of words that tell a category. */
#include "category.h"

#include <string.h>

/* Of a device kernel's name; the first line with a hit counts. */
static const struct needle_line device_lines[] = {
    {"MemCpy", "memcpy memset", ""},
    {"Communication",
     "nccl rccl cross_device_reduce all_reduce allreduce all_gather allgather "
     "reduce_scatter reducescatter all_to_all alltoall",
     ""},
    {"MoE",
     "swiglu fmoe fused_moe moe_gemm moegemm ck_moe moe_sorting moe_align topk_softmax "
     "topkgatingsoftmax grouped_topk routing",
     ""},
    {"SDPA",
     "paged_attention pagedattention attention_2d attention_3d unified_attention "
     "flash_attn flash_fwd fmha mla_decode packed_decode grouped_att",
     ""},
    {"KVCacheStore", "reshape_and_cache concat_and_cache", ""},
    {"Normalization",
     "rmsnorm rms_norm layer_norm layernorm l2norm fusedlnmodulate ada_ln adaln modulate "
     "scale_shift",
     ""},
    {"SDPA",
     "_fwd_kernel _fwd_grouped_kernel reduce_segments _score_kernel _combine_kernel", ""},
    {"Elementwise", "rotary", "rope"},
    {"Quantization",
     "per_tensor_quant per_token..quant dynamic..quant dynamic_per_token scaled_quant "
     "static_quant data_to_scale initializescale",
     ""},
    {"Convolution",
     "conv2d conv_2d conv_fwd conv_bwd convolution miopen..conv cudnn..conv", ""},
    {"Elementwise", "silu swish act_and_mul situ_and_mul", "gelu"},
    {"Elementwise", "embedding gather_kernel", ""},
    {"GEMM",
     "cijk_ wvsplitk splitkreduce hipblaslt rocblas cublas nvjet gemm_xdl gemm_a hgemm "
     "flatmm opus_gemm",
     ""},
    {"Elementwise",
     "elementwise catarraybatchedcopy direct_copy_kernel _to_copy fillfunctor copy_", ""},
    {"GEMM", "scaled_mm matmul", "gemm bmm"},
    {"Quantization", "quantize", "quant"},
    {"Elementwise", "triton_poi_fused triton_red_fused triton_per_fused", ""},
    {"Normalization", "", "norm"},
    {"Elementwise", "rocprim hipcub devicescan deviceradixsort devicereduce", ""},
};

/* Of the op that launched it. */
static const struct needle_line op_lines[] = {
    {"Communication",
     "nccl rccl cross_device_reduce all_reduce allreduce all_gather allgather "
     "reduce_scatter reducescatter all_to_all alltoall",
     ""},
    {"Convolution", "convolution conv1d conv2d conv3d conv_transpose", ""},
    {"SDPA",
     "scaled_dot_product_attention efficient_attention flash_attention "
     "_attention_forward multi_head_attention",
     "sdpa"},
    {"Normalization",
     "layer_norm layernorm rms_norm rmsnorm group_norm groupnorm batch_norm", ""},
    {"KVCacheStore", "reshape_and_cache concat_and_cache", ""},
    {"MoE", "fused_moe topk routing expert", "moe"},
    {"Quantization", "quantize per_tensor per_token", "quant"},
    {"GEMM", "addmm baddbmm matmul scaled_mm", "mm bmm linear gemm"},
    {"Elementwise",
     "silu swish sigmoid gelu_and_mul act_and_mul rotary embedding elementwise concat "
     "index_select slice reshape transpose permute fill clamp to_copy",
     "gelu relu tanh rope mul add sub div copy copy_ cat view"},
};

void
categories_init(struct categories *ret_categories)
{
    needles_init(&ret_categories->devices, device_lines,
                 sizeof device_lines / sizeof device_lines[0]);
    needles_init(&ret_categories->ops, op_lines, sizeof op_lines / sizeof op_lines[0]);
}

/* Libraries lower these onto a matrix product, which the device name then shows. */
static bool
is_lowered(const char *op_category)
{
    return op_category &&
           (strcmp(op_category, "Convolution") == 0 || strcmp(op_category, "SDPA") == 0);
}

const char *
category_of(const struct categories *categories,
            struct slice device_name,
            enum kernel_category category,
            struct slice op)
{
    if (category != KERNEL_CATEGORY_KERNEL)
        return "MemCpy";
    const char *mine = needles_first(&categories->devices, device_name);
    if (mine && strcmp(mine, "GEMM") != 0)
        return mine;
    const char *theirs = needles_first(&categories->ops, op);
    if (mine)
        return is_lowered(theirs) ? theirs : mine;
    return theirs ? theirs : "Others";
}
