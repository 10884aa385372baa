#include "experiments/framework/experiment.hpp"
#include "experiments/shared/published_numbers.hpp"

namespace ulp {
namespace {

using sources::amp_slides;
using sources::notebook;
using sources::paperspace;
using sources::round_table;
using sources::volta_talk;

constexpr std::string_view imagenet = "needs ILSVRC12 and weeks of GPU time";
constexpr std::string_view timing = "a time needs the GPU";
constexpr std::string_view translation = "needs the translation data and days of GPU time";

constexpr PublishedNumber published[] = {
    // The slides on quantization and mixed precision.
    {"tf32_fp16_speed", round_table, "TensorFloat32 support", "FP16 is up to about 2x as fast as TF32.", "~2x",
     "a time needs the GPU; an H100 reaches 1.71x (cuBLAS, 4096 x 4096 x 4096)"},
    {"tf32_default", round_table, "TensorFloat32 tips", "TF32 is the default on A100 in the containers from 20.06 on.",
     "20.06", "needs that software"},
    {"tf32_versions", round_table, "TensorFloat32 tips",
     "TF32 needs PyTorch 1.7, TensorFlow 2.4, cuDNN 8.0 and cuBLAS 11.0 at least.", "1.7, 2.4, 8.0, 11.0",
     "needs that software"},
    {"linear_time", round_table, "How does one know tensor cores were used?",
     "The kernel of the 256 x 1024 to 2048 layer takes 37.024 us.", "37.024 us", timing},
    // The article.
    {"newer_gpus", paperspace, "What do you know about Mixed Precision Training?",
     "Mixed precision can be more than three times as fast on newer GPUs, and 60 percent faster on TPUs.", "3x, 60 %",
     timing},
    {"analog_accuracy", paperspace, "Automatic Mixed Precision Training with Deep Learning",
     "Training with a phase-change memory reaches 97.73% on MNIST, within 0.6% of software.", "97.73 %",
     "needs the analog device"},
    {"analog_energy", paperspace, "Automatic Mixed Precision Training with Deep Learning",
     "Its energy efficiency is 172 times that of a digital 32-bit implementation.", "172x", "needs the analog device"},
    {"tf32_10x", paperspace, "Enabling TensorFloat-32", "TF32 is up to 10 times as fast as fp32 on Volta.", "10x",
     "a time needs the GPU; an H100 is 7.7 times as fast in TF32 as in fp32 (cuBLAS, 4096 x 4096 x 4096)"},
    {"tf32_half_speed", paperspace, "Understanding the TensorFloat-32 Math",
     "A100 runs FP16 and BF16 at double the speed of TF32.", "2x",
     "a time needs the GPU; an H100 reaches 1.71x (cuBLAS, 4096 x 4096 x 4096)"},
    {"bert_4x", paperspace, "BERT Model Overview", "With Tensor Cores BERT answers up to 4x as fast.", "4x", timing},
    {"time_saved", paperspace, "Real world performance benchmarks",
     "Mixed precision saves 50 to 60% of the time of big models, which is 2 to 2.5 times as fast; elsewhere up to 60% "
     "faster. Small feed-forward nets gain little.",
     "50 to 60 %, 60 %", timing},
    {"half_time", paperspace, "half the precision, half the training time",
     "Half the precision halves the training time (what the roofline allows: roofline.memory_limited_too).", "half",
     timing},
    // The slides on automatic mixed precision.
    {"faster_2_4", amp_slides, "This talk", "Networks become 2 to 4 times as fast.", "2-4x", timing},
    {"sentiment_4.5", amp_slides, "Mixed precision in practice: speed",
     "Sentiment analysis becomes 4.5 times as fast (the other talk says 4.0).", "4.5x", timing},
    {"fairseq_4", amp_slides, "Mixed precision in practice: speed",
     "FAIRseq becomes 4 times as fast (the other talk says 2.9 and 4.9).", "4x", timing},
    {"gnmt_2", amp_slides, "Mixed precision in practice: speed",
     "GNMT becomes 2 times as fast (the other talk says 2.3).", "2x", timing},
    {"levels_speed", amp_slides, "Optimization levels in action",
     "O1 and O2 are 2 times as fast as fp32, about 6% behind O3.", "2x, 6 %", timing},
    {"levels_accuracy", amp_slides, "Optimization levels in action",
     "ResNet-50 reaches 76.15% with O0, 76.38% with O1, 75.9% with O2.", "76.15 %, 76.38 %, 75.9 %", imagenet},
    // The talk on Volta and Turing.
    {"gv100_size", volta_talk, "GV100", "GV100 has 21 billion transistors on 815 square millimetres.", "21e9, 815 mm2",
     "a property of the chip"},
    {"gv100_memory", volta_talk, "GV100", "16 GB of memory with 900 GB/s, and 300 GB/s between GPUs.",
     "16 GB, 900 GB/s, 300 GB/s", "a property of the chip"},
    {"faster_rcnn", volta_talk, "Detection networks, mAP", "Faster R-CNN: 69.1% in fp32, 69.7% in mixed precision.",
     "69.1 %, 69.7 %", "needs VOC 07 and days of GPU time"},
    {"mask_rcnn", volta_talk, "Detection networks, mAP", "Mask R-CNN: 37.7% in fp32, 37.7% in mixed precision.",
     "37.7 %, 37.7 %", "needs COCO and days of GPU time"},
    {"ssd", volta_talk, "Detection networks, mAP", "Multibox SSD: 76.9% in fp32, 77.1% in mixed precision.",
     "76.9 %, 77.1 %", "needs VOC 07+12 and days of GPU time"},
    {"resnet50_speed", volta_talk, "Mixed Precision for Resnet50",
     "ResNet-50 becomes 2.9x (MxNet), 2.2x (TensorFlow), ~3x (with XLA), 2.3x (PyTorch) as fast.",
     "2.9x, 2.2x, 3x, 2.3x", timing},
    {"gnmt_speed", volta_talk, "Not just for ImageNet", "GNMT: 2.3x at the same batch size.", "2.3x", timing},
    {"transformer_speed", volta_talk, "Not just for ImageNet",
     "FairSeq Transformer: 2.9x at the same batch size, 4.9x with a larger one.", "2.9x, 4.9x", timing},
    {"convseq_speed", volta_talk, "Not just for ImageNet", "ConvSeq2Seq: 2.5x at twice the batch size.", "2.5x",
     timing},
    {"ds2_speed", volta_talk, "Not just for ImageNet", "Deep Speech 2: 4.5x with a larger batch.", "4.5x", timing},
    {"wav2letter_speed", volta_talk, "Not just for ImageNet", "wav2letter: 3.0x at twice the batch size.", "3.0x",
     timing},
    {"sentiment_speed", volta_talk, "Not just for ImageNet", "Sentiment: 4.0x with a larger batch.", "4.0x", timing},
    {"time_splits", volta_talk, "Example layer time breakdowns for FP32-only training",
     "ResNet-50 spends 73% of its time in convolutions, Deep Speech 2 90% in products.", "73 %, 90 %", timing},
    {"skipped_updates", volta_talk, "Automatic loss scaling parameters",
     "A study found that skipping 0.1% of the updates at random changes nothing.", "0.1 %",
     "needs the nets of that study"},
    {"gnmt_bleu", volta_talk, "Language translation", "GNMT reaches about 29 BLEU in fp32 and in mixed precision.",
     "~29 BLEU", translation},
    {"fairseq_bleu", volta_talk, "Language translation",
     "FairSeq reaches about 40.5 BLEU after 12 epochs in fp32 and in mixed precision.", "~40.5 BLEU", translation},
    {"transformer_bleu", volta_talk, "Language translation",
     "Transformer reaches about 25 BLEU in fp32 and in mixed precision.", "~25 BLEU", translation},
    {"speech_english", volta_talk, "Speech", "Character error rate in English: 2.20 in fp32, 1.99 in mixed precision.",
     "2.20, 1.99", "needs Baidu's recordings"},
    {"speech_mandarin", volta_talk, "Speech",
     "Character error rate in Mandarin: 15.82 in fp32, 15.01 in mixed precision.", "15.82, 15.01",
     "needs Baidu's recordings"},
    {"gan_resolution", volta_talk, "Progressive growing of GANs",
     "Faces of 1024 x 1024 without a perceptible difference between the precisions.", "1024 x 1024",
     "needs the photographs and days of GPU time"},
    {"sentiment_bpc", volta_talk, "Sentiment analysis",
     "Bits per character: 1.116 and 1.115 in training, 1.073 and 1.075 in validation.", "1.116, 1.115; 1.073, 1.075",
     "needs the reviews and days of GPU time"},
    {"sentiment_accuracy", volta_talk, "Sentiment analysis",
     "SST 91.8 and 91.9, IMDB 92.8 and 92.8 in fp32 and in mixed precision.", "91.8, 91.9; 92.8, 92.8",
     "needs the reviews and days of GPU time"},
    {"inpainting_speed", volta_talk, "Image inpainting", "Inpainting: 3x at twice the batch size.", "3x", timing},
    {"fp16_accumulation_speed", volta_talk, "Inference",
     "fp16 accumulation saves power and register bandwidth in inference.", "some",
     "a time needs the GPU; an H100 is 8 % faster so (cuBLAS, 4096 x 4096 x 4096)"},
    // The notebook.
    {"notebook_speed", notebook, "basics", "fp16 has 8x the compute throughput and 2x the memory throughput.", "8x, 2x",
     "a time needs the GPU; an H100 computes 13.2 times as fast as in fp32 (cuBLAS, 4096 x 4096 x 4096)"},
};

constexpr PublishedAccuracy accuracies[] = {
    {"AlexNet", 56.77, 56.93, 56.8, 56.9},      {"VGG-D", 65.40, 65.43, 65.4, 65.4},
    {"GoogLeNet", 68.33, 68.43, 68.3, 68.4},    {"Inception v2", 70.03, 70.02, 70.0, 70.0},
    {"Inception v3", 73.85, 74.13, 73.9, 74.1}, {"ResNet-50", 75.92, 76.04, 75.9, 76.0},
};

}  // namespace

std::span<const PublishedNumber> published_numbers() { return published; }
std::span<const PublishedAccuracy> published_accuracies() { return accuracies; }

}  // namespace ulp
